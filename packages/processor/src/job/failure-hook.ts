import { settlesWithin, type FailedEvent, type OnFailed } from "@millrace/core";

const CLOSE_MS = 3_000;

export interface FailureHook {
  call(event: FailedEvent): void;
  close(): Promise<void>;
}

/** Calls a user's `onFailed` so that its errors are reported and it delays no event. */
export function createFailureHook(
  onFailed: OnFailed,
  onError: (error: unknown) => void,
): FailureHook {
  const inProgress = new Set<Promise<void>>();

  async function run(event: FailedEvent): Promise<void> {
    try {
      await onFailed(event);
    } catch (error) {
      onError(error);
    }
  }

  return {
    call(event) {
      const called = run(event);
      inProgress.add(called);
      void called.finally(() => inProgress.delete(called));
    },
    async close() {
      await settlesWithin(Promise.all(inProgress), CLOSE_MS);
    },
  };
}
