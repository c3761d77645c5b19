import type { ConnectionReset } from "@millrace/ledger";
import {
  type BulkNotice,
  DISAGREEMENT_KINDS,
  LEDGER_CHANGES,
  type ReconcilerNotice,
  type RetentionNotice,
  type RetentionResult,
} from "@millrace/operations";
import type { QueueNotice } from "@millrace/queue";
import { metricsOf, type Logger } from "@millrace/service";
import { observeProcessor, type ObserverDeps } from "./observe-processor.ts";

export type Observers = ReturnType<typeof createObservers>;

export function createObservers(deps: ObserverDeps) {
  return {
    processor: observeProcessor(deps),
    ledger: observeLedger(deps),
    queue: observeQueue(deps),
    reconciler: observeReconciler(deps),
    retention: observeRetention(deps),
    bulkRuns: observeBulkRuns(deps),
  };
}

const RESET_REASONS: Readonly<Record<ConnectionReset["reason"], string>> = {
  session:
    "a handler sent SET, LISTEN, PREPARE or the like; each such event costs a new connection",
  uncleaned: "what a handler may have left on it could not be removed",
};

export function observeLedger({ registry, logError, sources }: ObserverDeps) {
  const resets = metricsOf(registry).counter(
    "millrace_worker_connections_reset_total",
    "Connections to Postgres that were closed because of what a handler did to them, by source and reason (session: it changed the session; uncleaned: what it left could not be removed).",
    "source",
    "reason",
  );
  // An alert needs a 0 before the first reset.
  for (const source of sources) {
    for (const reason of Object.keys(RESET_REASONS)) resets.inc({ source, reason }, 0);
  }
  return ({ source, reason }: ConnectionReset): void => {
    resets.inc({ source, reason });
    logError(`connection closed: ${source}`, RESET_REASONS[reason]);
  };
}

export function observeQueue({ registry, logger, logError }: ObserverDeps) {
  const { counter } = metricsOf(registry);
  const locksLost = counter(
    "millrace_worker_locks_lost_total",
    "Jobs whose lock in the queue was lost while they ran.",
    "source",
  );
  const stalled = counter(
    "millrace_worker_stalled_total",
    "Jobs whose worker stopped renewing their lock.",
    "source",
  );
  return (notice: QueueNotice): void => {
    switch (notice.kind) {
      case "background_error":
        return logError(`queue: ${notice.cause}`, notice.error);
      case "backed_off":
        return logError("queue: backing off", `too many errors from source ${notice.source}`);
      case "stalled":
        stalled.inc({ source: notice.source });
        return logError(
          "queue: stalled",
          `job ${notice.jobId} of ${notice.source} lost its worker`,
        );
      case "lock_lost":
        locksLost.inc({ source: notice.source });
        return logError(
          "queue: lock lost",
          `job ${notice.jobId} of ${notice.source} lost its lock`,
        );
      case "job_abandoned":
      case "refused":
        return logger.error(notice, "job failed by the queue");
    }
  };
}

function observeBulkRuns({ logger, logError }: ObserverDeps): (notice: BulkNotice) => void {
  return (notice) => {
    switch (notice.kind) {
      case "started":
      case "ended": {
        const { id, verb } = notice.run;
        return logger.info({ run: id, verb }, `bulk run ${notice.kind}`);
      }
      case "waits":
      case "failed":
        return logError(`bulk run ${notice.run.id} ${notice.kind}`, notice.error);
      case "unreadable":
        return logError("bulk runs", notice.error);
    }
  };
}

type NoticeOf<Kind> = ReconcilerNotice & { readonly kind: Kind };

/** Only the leader of several workers counts. */
export function observeReconciler(deps: ObserverDeps): (notice: ReconcilerNotice) => void {
  const { logger, logError } = deps;
  const metrics = registerMetrics(deps);
  const last = new Map<string, number>();
  for (const kind of LEDGER_CHANGES) metrics.ledgerChanges.inc({ kind }, 0);
  metrics.failures.inc({ source: "" }, 0);
  reset();

  function reset(): void {
    last.clear();
    for (const kind of DISAGREEMENT_KINDS) metrics.disagreements.set({ kind }, 0);
  }

  function countPass(pass: NoticeOf<"passed">): void {
    for (const kind of DISAGREEMENT_KINDS) {
      const { count: all = 0, owed = 0 } = pass.found.get(kind) ?? {};
      const count = all - owed;
      // A partial pass compares only some finished jobs: it can find more, never fewer.
      if (SEEN_WHOLE.has(kind) && !pass.whole && count <= (last.get(kind) ?? 0)) continue;
      last.set(kind, count);
      metrics.disagreements.set({ kind }, count);
    }
    metrics.lastPass.setToCurrentTime();
  }

  return (notice) => {
    switch (notice.kind) {
      case "queue_changed":
        return logQueueChange(notice, logger);
      case "ledger_changed":
        for (const [source, { kind, unnamed }] of notice.changes) {
          metrics.ledgerChanges.inc({ kind });
          if (kind !== "restarted") metrics.unnamed.set({ source }, unnamed);
        }
        return logLedgerChange(notice, logger);
      case "progress":
        return logger.info({ compared: notice.looked, repaired: notice.repaired }, "reconciling");
      case "passed":
        countPass(notice);
        if (notice.found.size === 0 && !notice.whole) return;
        return logger.info(passFields(notice), "reconciled");
      case "job_abandoned":
        return logError(
          "reconciler: failed",
          `event ${notice.event.eventId} of ${notice.event.source}: ${notice.reason}`,
        );
      case "pass_failed":
        metrics.failures.inc({ source: notice.source ?? "" });
        return logError(
          notice.source === undefined ? "reconciler" : `reconciler: ${notice.source}`,
          notice.error,
        );
      case "follows":
        return reset();
    }
  };
}

function registerMetrics({ registry, leading }: ObserverDeps) {
  const { counter, gauge, scraped } = metricsOf(registry);
  scraped(
    "millrace_reconciler_leader",
    "1 in the one worker that compares ledger and queues.",
    [],
    (leader) => leader.set(leading() ? 1 : 0),
  );
  return {
    disagreements: gauge(
      "millrace_disagreements",
      "Events on which ledger and queue disagreed at the reconciler's last pass, by kind, without those that wait for their first job.",
      "kind",
    ),
    lastPass: gauge(
      "millrace_reconciler_last_pass_timestamp_seconds",
      "When this process last finished a pass, in Unix time.",
    ),
    failures: counter(
      "millrace_reconciler_pass_failures_total",
      "Passes that failed. The source is empty unless the queue of one source failed by itself.",
      "source",
    ),
    ledgerChanges: counter(
      "millrace_ledger_changes_total",
      "Queues that knew another Postgres, or a later state of it, by how it differs.",
      "kind",
    ),
    unnamed: gauge(
      "millrace_ledger_unnamed_events",
      "Completed events of a source that its ledger had lost when that was last found, and whose jobs were gone.",
      "source",
    ),
  };
}

/** Without a repair, these are found again, and only by a pass over everything. */
const SEEN_WHOLE: ReadonlySet<string> = new Set([
  "unrecorded_job_completed",
  "unrecorded_job_unsigned",
  "unreadable_job",
]);

/** A queue that is seen for the first time is no warning. */
function logQueueChange({ changes }: NoticeOf<"queue_changed">, logger: Logger): void {
  const which = (kind: string) =>
    [...changes].filter(([, change]) => change === kind).map(([source]) => source);
  const [added, changed] = [which("new"), which("changed")];
  if (added.length > 0) {
    logger.info({ sources: added }, "a queue is new; comparing all pending events with it");
  }
  if (changed.length > 0) {
    logger.warn(
      { sources: changed },
      "a queue was restarted, flushed, or restored; comparing all pending events with it",
    );
  }
}

/** A restart is an error only if it has lost data; then another line follows. */
function logLedgerChange({ changes }: NoticeOf<"ledger_changed">, logger: Logger): void {
  for (const [source, { kind, unnamed, fromMs, tillMs }] of changes) {
    if (kind === "restarted") {
      logger.info({ source }, "Postgres was restarted; comparing all jobs that completed with it");
      continue;
    }
    const lost = {
      unnamed,
      from: new Date(fromMs).toISOString(),
      till: new Date(tillMs).toISOString(),
    };
    logger.error(
      { source, change: kind, ...lost },
      "Postgres was failed over or restored; comparing everything with it, and running again what it has lost",
    );
  }
}

function passFields({ found, repaired, looked, tookMs }: NoticeOf<"passed">) {
  const kinds = [...found].map(([kind, { count, examples }]) => {
    const shown = examples.map(({ source, event_id, generation, job_id, detail }) =>
      event_id === null ? { source, job_id, detail } : { source, event_id, generation },
    );
    return [kind, { count, examples: shown }] as const;
  });
  return { compared: looked, repaired, took_ms: tookMs, found: Object.fromEntries(kinds) };
}

export type PeriodicTask = "partitions" | "retention" | "completed jobs" | "activity" | "alerts";

function observeRetention({ registry, logger, logError }: ObserverDeps) {
  const { counter, gauge } = metricsOf(registry);
  const failures = counter("millrace_retention_failures_total", "Runs that failed.");
  const lastSuccess = gauge(
    "millrace_retention_last_success_timestamp_seconds",
    "When this process last completed a run, in Unix time.",
  );
  const oldest = gauge(
    "millrace_retention_oldest_bodies_timestamp_seconds",
    "Start of the oldest day whose bodies are kept, in Unix time, at the last run.",
  );
  return {
    onNotice: (notice: RetentionNotice): void => logRetention(notice, logger),
    /** Of several workers, only the one that ran it last counts. */
    onResult(result: RetentionResult): void {
      if (result.kind === "taken") return;
      lastSuccess.setToCurrentTime();
      if (result.oldestDay !== undefined) oldest.set(Date.parse(result.oldestDay) / 1_000);
      if (result.keysDeleted === 0) return;
      logger.info({ events: result.keysDeleted }, "old events deleted");
    },
    onError(task: PeriodicTask, error: unknown): void {
      if (task === "retention") failures.inc();
      logError(task, error);
    },
  };
}

function logRetention(notice: RetentionNotice, logger: Logger): void {
  switch (notice.kind) {
    case "dropped":
      return logger.info({ day: notice.day, bytes: notice.bytes }, "bodies dropped");
    case "busy":
      return logger.warn(
        { day: notice.day },
        "bodies are in use; they will be dropped in the next run",
      );
    case "moved":
      return logger.info(
        { day: notice.day, events: notice.events },
        "bodies of unfinished events moved",
      );
    case "keys_deleted":
      return;
  }
}
