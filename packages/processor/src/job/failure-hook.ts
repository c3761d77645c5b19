import { settlesWithin, type FailedEvent, type OnFailed } from "@millrace/core";

const CLOSE_MS = 3_000;

export type FailureHook = ReturnType<typeof createFailureHook>;

/** Calls a user's `onFailed` so that its errors are reported and it delays no event. */
export function createFailureHook(onFailed: OnFailed, onError: (error: unknown) => void) {
  const inProgress = new Set<Promise<void>>();
  const run = async (event: FailedEvent) => await onFailed(event);
  return {
    call(event: FailedEvent): void {
      const called = run(event).catch(onError);
      inProgress.add(called);
      void called.finally(() => inProgress.delete(called));
    },
    async close(): Promise<void> {
      await settlesWithin(Promise.all(inProgress), CLOSE_MS);
    },
  };
}
