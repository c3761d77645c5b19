import { settledWithin, type FailedEvent, type OnFailed } from "@millrace/core";

/** Milliseconds that calls under way have when the worker closes. */
const CLOSE_MS = 3_000;

/** The user's `onFailed`, called beside the work. */
export interface FailureHook {
  /** Calls it; nobody waits for it. */
  tell(event: FailedEvent): void;
  /** Waits for the calls under way, within bounds. */
  close(): Promise<void>;
}

/** Keeps a user's hook from doing harm: what it throws is reported, and it holds up no event. */
export function createFailureHook(
  onFailed: OnFailed,
  onError: (error: unknown) => void,
): FailureHook {
  const underWay = new Set<Promise<void>>();

  async function call(event: FailedEvent): Promise<void> {
    try {
      await onFailed(event);
    } catch (error) {
      onError(error);
    }
  }

  return {
    tell(event) {
      const called = call(event);
      underWay.add(called);
      void called.finally(() => underWay.delete(called));
    },
    async close() {
      await settledWithin(Promise.all(underWay), CLOSE_MS);
    },
  };
}
