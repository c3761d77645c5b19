/** Drops a late rejection. @throws the error of `late()`, or the promise's own */
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

export interface Deadline<Item> extends Linked<Deadline<Item>> {
  readonly item: Item;
  readonly dueMs: number;
}

/** One timer for many equal waits: a timer a request would be set thousands of times a second. */
export class Deadlines<Item> {
  readonly #timeoutMs: number;
  readonly #onLate: (item: Item) => void;
  /** All wait equally long, so the first that came is the first that is late. */
  readonly #waits = new LinkedList<Deadline<Item>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, onLate: (item: Item) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onLate = onLate;
  }

  add(item: Item): Deadline<Item> {
    const dueMs = performance.now() + this.#timeoutMs;
    const added: Deadline<Item> = { item, dueMs, before: undefined, after: undefined };
    this.#waits.append(added);
    this.#timer ??= setTimeout(() => this.#endLate(), this.#timeoutMs);
    return added;
  }

  delete(deadline: Deadline<Item>): void {
    this.#waits.remove(deadline);
    if (this.#waits.first !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #endLate(): void {
    const nowMs = performance.now();
    // The timer stays set: a wait that begins in `onLate` is not the first, and needs none.
    let { first } = this.#waits;
    while (first !== undefined && first.dueMs <= nowMs) {
      this.#waits.remove(first);
      this.#onLate(first.item);
      ({ first } = this.#waits);
    }
    clearTimeout(this.#timer);
    this.#timer = first && setTimeout(() => this.#endLate(), first.dueMs - performance.now());
  }
}

export interface Linked<Item> {
  before: Item | undefined;
  after: Item | undefined;
}

/**
 * Not a Map: V8 replaces the table of a busy Map again and again, and each old table refers to the
 * next one, so that quick garbage collections collect none of the later entries.
 */
export class LinkedList<Item extends Linked<Item>> {
  first: Item | undefined;
  last: Item | undefined;

  append(item: Item): void {
    item.before = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.after = item;
    this.last = item;
  }

  has(item: Item): boolean {
    return item.before !== undefined || this.first === item;
  }

  remove(item: Item): void {
    if (!this.has(item)) return;
    const { before, after } = item;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    item.before = undefined;
    item.after = undefined;
  }
}

export function settlesWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const settled = Promise.allSettled([promise]);
  return withDeadline(settled, timeoutMs, () => new Error("late")).then(
    () => true,
    () => false,
  );
}

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

/** @throws the signal's reason */
export function unlessAborted<T>(signal: StopSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
    promise.finally(() => signal.removeEventListener("abort", stop)).then(resolve, reject);
  });
}

/** The part of an AbortSignal that is used here. A `LazySignal` has it too, and costs much less. */
export interface StopSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A signal whose AbortSignal is created when a handler asks for it, which few do. */
export class LazySignal implements StopSignal {
  #controller: AbortController | undefined;
  #abortedFor: { readonly reason: unknown } | undefined;
  // No Set: see `LinkedList`. An AbortSignal has the same fault.
  #listeners: (() => void)[] = [];

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortedFor !== undefined) this.#controller.abort(this.#abortedFor.reason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortedFor !== undefined;
  }

  get reason(): unknown {
    return this.#abortedFor?.reason;
  }

  abort(reason: unknown): void {
    if (this.#abortedFor !== undefined) return;
    this.#abortedFor = { reason };
    this.#controller?.abort(reason);
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index !== -1) this.#listeners.splice(index, 1);
  }
}

export class InFlight {
  #count = 0;
  #onNone: (() => void)[] = [];

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#onNone.splice(0)) resolve();
  }

  async none(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#onNone.push(resolve));
  }
}
