import { MillraceError } from "./errors.ts";

/** Knows whether it was awaited: `await` and `Promise.all` call `then` of another class. */
class WatchedPromise<Value> extends Promise<Value> {
  static override get [Symbol.species]() {
    return Promise;
  }
  isAwaited = false;

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise: `await` calls this
  override then: Promise<Value>["then"] = (...handlers) => {
    this.isAwaited = true;
    return super.then(...handlers);
  };
}

export class AwaitedCalls {
  readonly #calls = new Map<WatchedPromise<unknown>, string>();
  readonly #running = new Set<WatchedPromise<unknown>>();

  track<Value>(call: string, running: Promise<Value>): Promise<Value> {
    const watched = new WatchedPromise<Value>((resolve) => resolve(running));
    this.#calls.set(watched, call);
    this.#running.add(watched);
    const end = () => void this.#running.delete(watched);
    // The error of a call that is not awaited must not end the process.
    void Promise.prototype.then.call(watched, end, end);
    return watched;
  }

  /** @throws `query_not_awaited` */
  check(): void {
    for (const [{ isAwaited }, call] of this.#calls)
      if (!isAwaited) throw notAwaited(`${call} was not awaited`);
  }

  /** Waits for the calls that still run. @throws `query_not_awaited`, for these too */
  async end(): Promise<void> {
    const late = [...this.#running].map((watched) => this.#calls.get(watched) ?? "");
    this.check();
    await Promise.allSettled(this.#running);
    if (late[0] !== undefined) throw notAwaited(`${late[0]} was not awaited`);
  }
}

export function notAwaited(fault: string): MillraceError {
  return new MillraceError(
    "query_not_awaited",
    `Cannot complete the event: ${fault}; put await before it`,
  );
}
