import { wait, settlesWithin } from "./deadline.ts";

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

const PROBE_TIMEOUT_MS = 1_000;
const PROBE_PAUSE_MS = 100;

/** Keeps calls away from a server that did not answer in time, until a probe is answered. */
export function createCircuitBreaker(probe: () => Promise<unknown>) {
  const stopped = new AbortController();
  let isOpen = false;

  async function probeUntilClosed(): Promise<void> {
    while (!stopped.signal.aborted) {
      await settlesWithin(probeOnce(), PROBE_TIMEOUT_MS);
      if (!isOpen) return;
      await wait(PROBE_PAUSE_MS, stopped.signal);
    }
  }

  async function probeOnce(): Promise<void> {
    await probe();
    isOpen = false;
  }

  return {
    get isOpen(): boolean {
      return isOpen;
    },
    trip: (): void => {
      if (isOpen || stopped.signal.aborted) return;
      isOpen = true;
      void probeUntilClosed();
    },
    stop: () => stopped.abort(),
  };
}
