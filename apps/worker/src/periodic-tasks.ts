import { settlesWithin, type RetentionConfig } from "@millrace/core";
import { createRetentionLedger, ensurePartitions, type createPool } from "@millrace/ledger";
import { runRetention } from "@millrace/operations";
import type { RetentionObserver } from "./observe-retention.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RETRY_MS = 60_000;
/** Milliseconds that a batch in progress has to end. */
const CLOSE_MS = 3_000;

export interface PeriodicTasks {
  /** Stops what runs as soon as it can. Bounded. */
  close(): Promise<void>;
}

/** Creates the partitions of the coming days, and drops what the retention no longer keeps. */
export function startPeriodicTasks(
  deps: {
    readonly pool: ReturnType<typeof createPool>;
    /** Absolute path of the folder for archives, if there is one. */
    readonly archiveDir: string | undefined;
    readonly observer: RetentionObserver;
  },
  config: RetentionConfig,
): PeriodicTasks {
  const { pool, archiveDir, observer } = deps;
  const ledger = createRetentionLedger({ pool });
  const policy = { ...config, archiveDir };

  const partitions = startTask({
    run: () => ensurePartitions(pool),
    everyMs: DAY_MS,
    onError: (error) => observer.onError("partitions", error),
  });
  const retention = startTask({
    run: async (signal) => {
      const result = await runRetention({ ledger, notify: observer.onNotice }, policy, signal);
      observer.onResult(result);
    },
    everyMs: HOUR_MS,
    onError: (error) => observer.onError("retention", error),
  });
  return {
    close: async () => {
      await settlesWithin(Promise.all([partitions.close(), retention.close()]), CLOSE_MS);
    },
  };
}

interface Task {
  /** Stops as soon as it can when the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  /** Milliseconds between the end of one run and the next. */
  readonly everyMs: number;
  readonly onError: (error: unknown) => void;
}

/** Runs a task now, and then again and again; a minute later when it failed. */
function startTask({ run, everyMs, onError }: Task): PeriodicTasks {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running = runOnce();

  async function runOnce(): Promise<void> {
    let nextMs = everyMs;
    try {
      await run(closing.signal);
    } catch (error) {
      nextMs = Math.min(everyMs, RETRY_MS);
      if (!closing.signal.aborted) onError(error);
    }
    if (closing.signal.aborted) return;
    timer = setTimeout(() => {
      running = runOnce();
    }, nextMs);
    timer.unref();
  }

  return {
    close: async () => {
      closing.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
