export interface CacheTtl {
  readonly ttlMinMs: number;
  /** A result is used for this many times the time of its call, and so a costly one is rare. */
  readonly timesTaken: number;
}

interface Entry<T> {
  readonly result: Promise<T>;
  expiresAtMs: number;
}

const KEYS_MAX = 100;

/**
 * Callers that ask while a call runs share it. A failure is cached for as long as the call took, so
 * that one with a timeout does not run again at once.
 */
export function cached<T>(
  ttl: CacheTtl,
  call: (key: string) => Promise<T>,
): (key?: string) => Promise<T> {
  const entries = new Map<string, Entry<T>>();
  return (key = "") => {
    const last = entries.get(key);
    if (last !== undefined && last.expiresAtMs > Date.now()) return last.result;
    const startedMs = Date.now();
    const entry = { result: call(key), expiresAtMs: Infinity };
    setNewest(entries, key, entry, KEYS_MAX);
    void expire(entry, startedMs, ttl);
    return entry.result;
  };
}

async function expire<T>(entry: Entry<T>, startedMs: number, ttl: CacheTtl): Promise<void> {
  try {
    await entry.result;
    const tookMs = Date.now() - startedMs;
    entry.expiresAtMs = Date.now() + Math.max(ttl.ttlMinMs, tookMs * ttl.timesTaken);
  } catch {
    entry.expiresAtMs = Date.now() + (Date.now() - startedMs);
  }
}

/** Sets a key as the newest one, and drops the oldest one above `max`. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
