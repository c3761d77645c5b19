import { wait, settlesWithin } from "./deadline.ts";

/** Keeps calls away from a server that did not answer in time, until a probe is answered. */
export interface CircuitBreaker {
  readonly isOpen: boolean;
  /** Opens, and probes until a probe succeeds, which closes it again. */
  trip(): void;
  stop(): void;
}

const PROBE_TIMEOUT_MS = 1_000;
const PROBE_PAUSE_MS = 100;

/** @param probe - resolves when the server has answered; asked each second. */
export function createCircuitBreaker(probe: () => Promise<unknown>): CircuitBreaker {
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
    get isOpen() {
      return isOpen;
    },
    trip: () => {
      if (isOpen || stopped.signal.aborted) return;
      isOpen = true;
      void probeUntilClosed();
    },
    stop: () => stopped.abort(),
  };
}
