/** Milliseconds for which a result is used. */
export interface CacheTtl {
  /** At least so many milliseconds. */
  readonly ttlMinMs: number;
  /**
   * And at least this many times what the call took, so that a costly one is not made all the time.
   */
  readonly timesTaken: number;
}

interface Entry<T> {
  readonly result: Promise<T>;
  expiresAtMs: number;
}

/** Results by key; the oldest is dropped first. */
const KEYS_MAX = 100;

/**
 * Caches the result of a costly call by key. Callers that ask while it runs share it. A failure is
 * cached for as long as the call took: one that ran into a timeout is not made again at once.
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
