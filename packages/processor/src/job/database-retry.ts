import { wait, type StopSignal } from "@millrace/core";
import { isDatabaseUnavailable } from "@millrace/ledger";

const FIRST_WAIT_MS = 100;
const WAIT_MS_MAX = 5_000;
const DELAY_MS_MIN = 1_000;
const DELAY_MS_MAX = 30_000;

export type DatabaseRetry = ReturnType<typeof createDatabaseRetry>;

/** @param options.maxMs - milliseconds that a step is retried before its error is thrown. */
export function createDatabaseRetry(options: {
  readonly maxMs: number;
  readonly random: () => number;
}) {
  const { maxMs, random } = options;
  let unavailableSince: number | undefined;

  return {
    /** Repeats a step while Postgres is unavailable; throws other errors at once, and the last. */
    async retry<T>(step: () => Promise<T>, signal: StopSignal): Promise<T> {
      const deadline = performance.now() + maxMs;
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
        try {
          const result = await step();
          unavailableSince = undefined;
          return result;
        } catch (error) {
          if (!isDatabaseUnavailable(error)) throw error;
          unavailableSince ??= performance.now();
          const jittered = waitMs * (0.5 + random() / 2);
          if (signal.aborted || performance.now() + jittered > deadline) throw error;
          await wait(jittered, signal);
          if (signal.aborted) throw error;
        }
      }
    },
    /** Milliseconds until a job is due that Postgres failed `times` times, with jitter. */
    delayMs(times: number): number {
      // The delay grows with the event's failures: its handler may bring Postgres down.
      const unavailableMs =
        unavailableSince === undefined ? 0 : performance.now() - unavailableSince;
      const repeatedMs = DELAY_MS_MIN * 2 ** Math.min(times, 10);
      const longest = Math.min(Math.max(unavailableMs, repeatedMs, DELAY_MS_MIN), DELAY_MS_MAX);
      return Math.round(longest * (0.5 + random() / 2));
    },
  };
}
