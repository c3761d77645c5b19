import { wait, settlesWithin } from "./deadline.ts";

/**
 * Keeps calls away from a server that did not answer in time, and probes it until it answers. Without
 * it, every call to a hung server would wait its whole deadline, and leave its bytes in a dead socket.
 */
export interface CircuitBreaker {
  readonly shut: boolean;
  /** Shuts, and probes until a probe succeeds. */
  trip(): void;
  close(): void;
}

const PROBE_TIMEOUT_MS = 1_000;
const PROBE_PAUSE_MS = 100;

/**
 * @param probe - resolves when the server has answered; asked again when it has not in a second.
 */
export function createCircuitBreaker(probe: () => Promise<unknown>): CircuitBreaker {
  const closing = new AbortController();
  let shut = false;

  async function probeUntilOpen(): Promise<void> {
    while (!closing.signal.aborted) {
      await settlesWithin(probeOnce(), PROBE_TIMEOUT_MS);
      if (!shut) return;
      await wait(PROBE_PAUSE_MS, closing.signal);
    }
  }

  // An answer counts also when it comes late.
  async function probeOnce(): Promise<void> {
    await probe();
    shut = false;
  }

  return {
    get shut() {
      return shut;
    },
    trip: () => {
      if (shut || closing.signal.aborted) return;
      shut = true;
      void probeUntilOpen();
    },
    close: () => closing.abort(),
  };
}
