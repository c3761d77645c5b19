import type { Worker } from "bullmq";
import type { Notify } from "./notice.ts";

const ERRORS_MAX = 5;
const WINDOW_MS = 1_000;
const REST_MS = 1_000;

/**
 * Lets a worker rest whose errors come too fast. BullMQ asks for the next job again at once when
 * Redis refuses (OOM, a replica) or Postgres is away: thousands of times a second.
 */
export function createRest(
  worker: Worker,
  source: string,
  notify: Notify,
): { hear(): void; stop(): void } {
  let errors = 0;
  let windowStart = 0;
  let resting: NodeJS.Timeout | undefined;
  let stopped = false;

  function rest(): void {
    resting = setTimeout(() => {
      resting = undefined;
      if (!stopped) void worker.resume();
    }, REST_MS);
    void worker.pause(true);
    notify({ kind: "rested", source, forMs: REST_MS });
  }

  return {
    hear: () => {
      const now = Date.now();
      if (now - windowStart > WINDOW_MS) {
        windowStart = now;
        errors = 0;
      }
      errors += 1;
      if (errors >= ERRORS_MAX && resting === undefined && !stopped) rest();
    },
    stop: () => {
      stopped = true;
      clearTimeout(resting);
    },
  };
}
