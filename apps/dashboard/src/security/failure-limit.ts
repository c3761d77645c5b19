/** Counts failures by key, and says how long a key that failed too often has to wait. */
export interface FailureLimit {
  /** Milliseconds until `key` may try again; 0 when it may now. */
  waitMs(key: string): number;
  /** The failures of a key in its window. */
  failures(key: string): number;
  count(key: string): void;
}

/**
 * Allows `failuresMax` failures a key in each window of `windowMs` milliseconds. At most `keysMax`
 * (10,000) keys are remembered; the oldest is forgotten first.
 */
export function createFailureLimit(options: {
  failuresMax: number;
  windowMs: number;
  keysMax?: number;
  nowMs?: () => number;
}): FailureLimit {
  const nowMs = options.nowMs ?? Date.now;
  const keysMax = options.keysMax ?? 10_000;
  const windows = new Map<string, { failures: number; endsMs: number }>();

  function live(key: string): { failures: number; endsMs: number } | undefined {
    const window = windows.get(key);
    if (window === undefined || window.endsMs > nowMs()) return window;
    windows.delete(key);
    return undefined;
  }

  return {
    waitMs(key) {
      const window = live(key);
      return window === undefined || window.failures < options.failuresMax
        ? 0
        : window.endsMs - nowMs();
    },
    failures: (key) => live(key)?.failures ?? 0,
    count(key) {
      const window = live(key);
      if (window !== undefined) {
        window.failures += 1;
        return;
      }
      const oldest = windows.keys().next();
      if (windows.size >= keysMax && oldest.done !== true) windows.delete(oldest.value);
      windows.set(key, { failures: 1, endsMs: nowMs() + options.windowMs });
    },
  };
}
