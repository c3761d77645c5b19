import { wait, settlesWithin } from "./deadline.ts";

/**
 * A breaker: a place that did not answer in time is shut and probed until it answers. Without it,
 * every call to a hung server would wait its whole deadline, and leave its bytes in a dead socket.
 */
export interface CircuitBreaker {
  readonly shut: boolean;
  /** Shuts the gate and probes until a probe succeeds. */
  trip(): void;
  close(): void;
}

const PROBE_TIMEOUT_MS = 1_000;
const PROBE_PAUSE_MS = 100;

/**
 * @param probe - resolves when the server has answered; asked again when it has not in a second.
 * @param options.restMs - milliseconds that the gate is shut at the least. For a server that answers a
 * probe and refuses everything else: each opening costs it, or somebody, a call.
 */
export function createCircuitBreaker(
  probe: () => Promise<unknown>,
  options: { restMs?: number } = {},
): CircuitBreaker {
  const restMs = options.restMs ?? 0;
  const closing = new AbortController();
  let shut = false;

  async function probeUntilOpen(): Promise<void> {
    if (restMs > 0) await wait(restMs, closing.signal);
    while (!closing.signal.aborted) {
      await settlesWithin(probeOnce(), PROBE_TIMEOUT_MS);
      if (!shut) return;
      await wait(PROBE_PAUSE_MS, closing.signal);
    }
  }

  // An answer opens the gate also when it comes late.
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
