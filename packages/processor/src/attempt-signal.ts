/**
 * The signal of one attempt, which follows longer-lived signals. Unlike AbortSignal.any it leaves
 * nothing behind in them once it is disposed of: the worker's own signal lives as long as the process.
 */
export function createAttemptSignal(followed: readonly AbortSignal[]): AttemptSignal {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const listeners = followed.map((signal) => {
    const listener = () => abort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
    return { signal, listener };
  });
  return {
    signal: controller.signal,
    abort,
    dispose: () => {
      for (const { signal, listener } of listeners) signal.removeEventListener("abort", listener);
    },
  };
}

export interface AttemptSignal {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Stops following. */
  dispose(): void;
}
