import { DISAGREEMENT_KINDS, LEDGER_CHANGES, type ReconcilerNotice } from "@millrace/operations";
import type { ErrorLog, Logger } from "@millrace/service";
import { Counter, Gauge, type Registry } from "prom-client";

interface Deps {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly logError: ErrorLog;
  /** True while this process is the one that reconciles. */
  readonly leading: () => boolean;
}

/** Counts what the reconciler finds and repairs, then logs it. */
export function observeReconciler(deps: Deps): (notice: ReconcilerNotice) => void {
  const count = createReconcilerMetrics(deps.registry, deps.leading);
  const countChanges = createLedgerMetrics(deps.registry);
  const countFailure = createFailureMetric(deps.registry);
  return (notice) => {
    count(notice);
    if (notice.kind === "pass_failed") countFailure(notice.source);
    if (notice.kind === "ledger_changed") countChanges(notice.changes);
    log(notice, deps);
  };
}

/** Registers the reconciler's metrics. Of several workers, only the one that leads counts anything. */
function createReconcilerMetrics(
  registry: Registry,
  leading: () => boolean,
): (notice: ReconcilerNotice) => void {
  const registers = [registry];
  const disagreements = new Gauge({
    name: "millrace_disagreements",
    help: "Events on which ledger and queue disagreed at the reconciler's last pass, by kind.",
    labelNames: ["kind"],
    registers,
  });
  const repaired = new Counter({
    name: "millrace_reconciler_repaired_total",
    help: "Disagreements of ledger and queue that were repaired, by kind.",
    labelNames: ["kind"],
    registers,
  });
  const compared = new Counter({
    name: "millrace_reconciler_compared_total",
    help: "Pending events and finished jobs that were compared.",
    registers,
  });
  const lastPass = new Gauge({
    name: "millrace_reconciler_last_pass_timestamp_seconds",
    help: "When this process last finished a pass, in Unix time.",
    registers,
  });
  registry.registerMetric(
    new Gauge({
      name: "millrace_reconciler_leader",
      help: "1 in the one worker that compares ledger and queues.",
      registers: [],
      collect() {
        this.set(leading() ? 1 : 0);
      },
    }),
  );

  const last = new Map<string, number>();
  function reset(): void {
    last.clear();
    for (const kind of DISAGREEMENT_KINDS) disagreements.set({ kind }, 0);
  }

  function countPass(pass: ReconcilerNotice & { kind: "passed" }): void {
    for (const kind of DISAGREEMENT_KINDS) {
      const count = pass.found.get(kind)?.count ?? 0;
      // Only a pass over everything compares all jobs that have ended: another may find more, never fewer.
      if (SEEN_WHOLE.has(kind) && !pass.whole && count <= (last.get(kind) ?? 0)) continue;
      last.set(kind, count);
      disagreements.set({ kind }, count);
    }
    for (const [kind, count] of pass.repairedByKind) repaired.inc({ kind }, count);
    compared.inc(pass.looked);
    lastPass.setToCurrentTime();
  }

  reset();
  for (const kind of DISAGREEMENT_KINDS) repaired.inc({ kind }, 0);
  return (notice) => {
    if (notice.kind === "passed") countPass(notice);
    else if (notice.kind === "follows") reset();
  };
}

/** Registers the metric of passes that failed, of one source or of all. */
function createFailureMetric(registry: Registry): (source: string | undefined) => void {
  const failures = new Counter({
    name: "millrace_reconciler_pass_failures_total",
    help: "Passes that failed. The source is empty unless the queue of one source failed by itself.",
    labelNames: ["source"],
    registers: [registry],
  });
  failures.inc({ source: "" }, 0);
  return (source = "") => failures.inc({ source });
}

type LedgerChanges = (ReconcilerNotice & { kind: "ledger_changed" })["changes"];

/** Registers the metrics of what Postgres has lost. */
function createLedgerMetrics(registry: Registry): (changes: LedgerChanges) => void {
  const registers = [registry];
  const counter = new Counter({
    name: "millrace_ledger_changes_total",
    help: "Queues that knew another Postgres, or a later state of it, by how it differs.",
    labelNames: ["kind"],
    registers,
  });
  const unnamed = new Gauge({
    name: "millrace_ledger_unnamed_events",
    help: "Completed events of a source that its ledger had lost when that was last found, and whose jobs were gone.",
    labelNames: ["source"],
    registers,
  });
  for (const kind of LEDGER_CHANGES) counter.inc({ kind }, 0);
  return (changes) => {
    for (const [source, change] of changes) {
      counter.inc({ kind: change.kind });
      if (change.kind !== "restarted") unnamed.set({ source }, change.unnamed);
    }
  };
}

/** Nobody repairs these, so that they are found again, and by nothing but a pass over everything. */
const SEEN_WHOLE: ReadonlySet<string> = new Set([
  "unrecorded_job_completed",
  "unrecorded_job_unsigned",
  "unreadable_job",
]);

/** One line for each pass that found anything, with a few examples. */
function log(notice: ReconcilerNotice, { logger, logError }: Deps): void {
  switch (notice.kind) {
    case "queue_changed":
      return logQueueChange(notice.changes, logger);
    case "ledger_changed":
      return logLedgerChange(notice.changes, logger);
    case "progress":
      return logger.info({ compared: notice.looked, repaired: notice.repaired }, "reconciling");
    case "passed":
      if (notice.found.size === 0 && !notice.whole) return;
      return logger.info(passFields(notice), "reconciled");
    case "job_abandoned":
      return logError(
        "reconciler: failed",
        `event ${notice.event.eventId} of ${notice.event.source}: ${notice.reason}`,
      );
    case "pass_failed":
      return logError(
        notice.source === undefined ? "reconciler" : `reconciler: ${notice.source}`,
        notice.error,
      );
    case "follows":
      return;
  }
}

/** A queue that is seen for the first time, as at the first start, is nothing to worry about. */
function logQueueChange(
  changes: (ReconcilerNotice & { kind: "queue_changed" })["changes"],
  logger: Logger,
): void {
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

/** A restart is an error only when it turns out to have lost something; then it is logged again. */
function logLedgerChange(changes: LedgerChanges, logger: Logger): void {
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

function passFields({ found, repaired, looked, tookMs }: ReconcilerNotice & { kind: "passed" }) {
  const kinds = [...found].map(([kind, { count, examples }]) => {
    const shown = examples.map(({ source, event, jobId, detail }) =>
      event === undefined
        ? { source, job_id: jobId, detail }
        : { source, event_id: event.eventId, generation: event.generation },
    );
    return [kind, { count, examples: shown }] as const;
  });
  return { compared: looked, repaired, took_ms: tookMs, found: Object.fromEntries(kinds) };
}
