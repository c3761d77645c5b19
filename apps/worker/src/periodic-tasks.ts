import { ALERTS_SOURCE, isInternal, settlesWithin, type Config } from "@millrace/core";
import type { WorkerStores } from "@millrace/connect";
import { countActivity, createRetentionLedger, ensurePartitions } from "@millrace/ledger";
import { raiseAlerts, runRetention, type DisagreementKind } from "@millrace/operations";
import type { Observers, PeriodicTask } from "./observers.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RETRY_MS = 60_000;
const CLOSE_MS = 3_000;

const ACTIVITY_EVERY_MS = 60_000;
const ALERTS_EVERY_MS = 10_000;
/** Completed jobs are removed at a twentieth of their time to stay, within these bounds. */
const COMPLETED_SHARE = 20;
const COMPLETED_EVERY_MS = { min: 1_000, max: 30_000 };
/** Above this share of Redis' maxmemory, each removal halves the time that completed jobs stay. */
const MEMORY_SHARE_MAX = 0.5;
const KEEP_MS_MIN = 1_000;

interface Deps extends Pick<WorkerStores, "pool" | "retentionPool" | "ledger" | "queues"> {
  readonly dashboardUrl: string | undefined;
  readonly takeDisagreements: () => ReadonlyMap<DisagreementKind, number>;
  readonly leading: () => boolean;
  readonly observer: Observers["retention"];
}

export function startPeriodicTasks(
  deps: Deps,
  config: Pick<Config, "retention" | "queue" | "sources">,
) {
  const { pool, retentionPool, queues, leading, observer } = deps;
  const { keepCompletedMs } = config.queue;
  const ledger = createRetentionLedger({ pool: retentionPool });

  const start = (name: PeriodicTask, everyMs: number, run: Run) =>
    startTask(run, everyMs, (error) => observer.onError(name, error));
  let keepMs = keepCompletedMs;
  const { min, max } = COMPLETED_EVERY_MS;
  const completedEveryMs = Math.min(Math.max(keepCompletedMs / COMPLETED_SHARE, min), max);
  const tasks = [
    start("partitions", DAY_MS, () => ensurePartitions(pool)),
    start("retention", HOUR_MS, async (signal) => {
      const retention = { ledger, notify: observer.onNotice };
      observer.onResult(await runRetention(retention, config.retention, signal));
    }),
    start("completed jobs", completedEveryMs, async (signal) => {
      if (!leading()) return;
      const { memoryShare = 0 } = await queues.measurePressure();
      keepMs =
        memoryShare > MEMORY_SHARE_MAX
          ? Math.max(keepMs / 2, Math.min(KEEP_MS_MIN, keepCompletedMs))
          : Math.min(keepMs * 2, keepCompletedMs);
      await queues.removeCompleted(keepMs, signal);
    }),
    start("activity", ACTIVITY_EVERY_MS, async (signal) => {
      if (leading()) await countActivity(pool, signal);
    }),
  ];
  const alerted = config.sources[ALERTS_SOURCE];
  if (alerted !== undefined && isInternal(alerted)) {
    const disagreements = new Map<DisagreementKind, number>();
    const raise = async () => {
      for (const [kind, count] of deps.takeDisagreements()) {
        disagreements.set(kind, (disagreements.get(kind) ?? 0) + count);
      }
      if (leading()) await raiseAlerts({ ...deps, disagreements, sources: config.sources });
      // After an error they are raised by the next run.
      disagreements.clear();
    };
    tasks.push(start("alerts", ALERTS_EVERY_MS, raise));
  }
  return {
    close: async (): Promise<void> => {
      await settlesWithin(Promise.all(tasks.map((task) => task.close())), CLOSE_MS);
    },
  };
}

type Run = (signal: AbortSignal) => Promise<unknown>;

function startTask(run: Run, everyMs: number, onError: (error: unknown) => void) {
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
    close: async (): Promise<void> => {
      closing.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
