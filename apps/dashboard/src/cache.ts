export interface CacheTtl {
  readonly ttlMinMs: number;
  /** A result is used for this many times the time of its call, and so a costly one is rare. */
  readonly timesTaken: number;
}

const KEYS_MAX = 100;

/**
 * Callers that ask while a call runs share it. A failure is cached for as long as the call took, so
 * that one with a timeout does not run again at once.
 */
export function cached<T>(ttl: CacheTtl, call: (key: string) => Promise<T>) {
  const entries = new Map<string, { result: Promise<T>; expiresAtMs: number }>();
  return (key = ""): Promise<T> => {
    const last = entries.get(key);
    if (last !== undefined && last.expiresAtMs > Date.now()) return last.result;
    const startedMs = Date.now();
    const entry = { result: call(key), expiresAtMs: Infinity };
    setNewest(entries, key, entry, KEYS_MAX);
    const expire = ({ ttlMinMs, timesTaken }: CacheTtl) => {
      const tookMs = Date.now() - startedMs;
      entry.expiresAtMs = Date.now() + Math.max(ttlMinMs, tookMs * timesTaken);
    };
    void entry.result.then(
      () => expire(ttl),
      () => expire({ ttlMinMs: 0, timesTaken: 1 }),
    );
    return entry.result;
  };
}

/** Sets a key as the newest one, and drops the oldest one above `max`. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
