/** How late this process was with what it had to do. */
export interface Lags {
  /** The most milliseconds in a stretch of `performance.now()`. */
  worstMs(fromMs: number, toMs: number): number;
  close(): void;
}

const EVERY_MS = 50;
/** What a machine at rest is late anyhow. */
const USUAL_MS = 30;

/** Watches, from now on, how late a timer is. */
export function watchLags(): Lags {
  const lags: { atMs: number; lateMs: number }[] = [];
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const lateMs = nowMs - lastMs - EVERY_MS;
    lastMs = nowMs;
    if (lateMs > USUAL_MS) lags.push({ atMs: nowMs, lateMs });
  }, EVERY_MS);
  return {
    worstMs: (fromMs, toMs) =>
      lags
        .filter(({ atMs, lateMs }) => atMs >= fromMs && atMs - lateMs <= toMs)
        .reduce((worst, { lateMs }) => Math.max(worst, lateMs), 0),
    close: () => clearInterval(timer),
  };
}
