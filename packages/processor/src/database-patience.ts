import { wait } from "@millrace/core";

const FIRST_WAIT_MS = 100;
const WAIT_MS_MAX = 5_000;
const DELAY_MS_MIN = 1_000;
const DELAY_MS_MAX = 30_000;

/**
 * How the processor bears a Postgres that is away: it tries a step again for a while, and tells
 * how long a job should stay away when that was not enough.
 */
export function createDatabasePatience(
  deps: PatienceDeps,
  options: PatienceOptions,
): DatabasePatience {
  let sickSince: number | undefined;

  return {
    async persist(step, signal) {
      const deadline = performance.now() + options.patienceMs;
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
        try {
          const result = await step();
          sickSince = undefined;
          return result;
        } catch (error) {
          if (!deps.isDatabaseTrouble(error)) throw error;
          sickSince ??= performance.now();
          const jittered = waitMs * (0.5 + deps.random() / 2);
          if (signal.aborted || performance.now() + jittered > deadline) throw error;
          await wait(jittered, signal);
          if (signal.aborted) throw error;
        }
      }
    },
    delayMs(times) {
      // As long again as it has been away, and longer for an event that it happens to repeatedly:
      // such a handler may be what brings Postgres down.
      const awayMs = sickSince === undefined ? 0 : performance.now() - sickSince;
      const repeatedMs = DELAY_MS_MIN * 2 ** Math.min(times, 10);
      const longest = Math.min(Math.max(awayMs, repeatedMs, DELAY_MS_MIN), DELAY_MS_MAX);
      return Math.round(longest * (0.5 + deps.random() / 2));
    },
  };
}

export interface PatienceDeps {
  readonly isDatabaseTrouble: (error: unknown) => boolean;
  readonly random: () => number;
}

export interface PatienceOptions {
  /** Milliseconds that a step is tried again before its error is thrown. */
  readonly patienceMs: number;
}

export interface DatabasePatience {
  /**
   * Runs a step, and again while it fails because Postgres is away. Throws its last error when
   * the time is up or the signal aborts, and any other error at once.
   */
  persist<T>(step: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Milliseconds, 1,000 to 30,000 with jitter, until a job should come again after this happened
   * to it `times` times before. */
  delayMs(times: number): number;
}
