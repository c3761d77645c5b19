/**
 * Waits for a promise at most `timeoutMs` milliseconds. What it was doing goes on, unheard; a late
 * rejection is dropped.
 *
 * @throws what `late()` makes when the time is up, and whatever the promise rejects with before.
 */
export function withDeadline<T>(
  promise: Promise<T>,
  timeoutMs: number,
  late: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), timeoutMs);
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

/** Waits until a promise has settled either way, or the time is up. True when it has settled. */
export async function settlesWithin(
  promise: Promise<unknown>,
  timeoutMs: number,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  const settled = Promise.allSettled([promise]).then(() => true);
  const inTime = await Promise.race([settled, late]);
  clearTimeout(timer);
  return inTime;
}

/** Waits so many milliseconds; returns at once when the signal aborts. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
