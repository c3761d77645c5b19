import type { StopSignal } from "./lazy-signal.ts";

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

/**
 * One timer for many waits of the same length. A timer of its own for each request is started and cleared
 * thousands of times a second, and nearly never fires.
 */
export class Deadlines<Item> {
  readonly #timeoutMs: number;
  readonly #onLate: (item: Item) => void;
  /** When the time of each is up. All wait equally long, so the first that came is the first that is late. */
  readonly #dueMs = new Map<Item, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param onLate - called with each item that is still here when its time is up. */
  constructor(timeoutMs: number, onLate: (item: Item) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onLate = onLate;
  }

  add(item: Item): void {
    this.#dueMs.set(item, performance.now() + this.#timeoutMs);
    this.#timer ??= setTimeout(() => this.#endLate(), this.#timeoutMs);
  }

  /** Ends the wait of an item, which may have ended before. */
  delete(item: Item): void {
    this.#dueMs.delete(item);
    if (this.#dueMs.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #endLate(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const [item, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) {
        this.#timer ??= setTimeout(() => this.#endLate(), dueMs - nowMs);
        return;
      }
      this.#dueMs.delete(item);
      this.#onLate(item);
    }
  }
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
export function wait(ms: number, signal?: StopSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish);
  });
}
