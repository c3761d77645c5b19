import { DISAGREEMENT_KINDS, type ReconcilerNotice } from "@millrace/operations";
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
  return (notice) => {
    count(notice);
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

  function reset(): void {
    for (const kind of DISAGREEMENT_KINDS) disagreements.set({ kind }, 0);
  }

  function countPass(pass: ReconcilerNotice & { kind: "passed" }): void {
    for (const kind of DISAGREEMENT_KINDS) {
      // Only a pass over everything compares what has completed.
      if (kind === "unrecorded_job_completed" && !pass.whole) continue;
      disagreements.set({ kind }, pass.found.get(kind)?.count ?? 0);
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

/** One line for each pass that found anything, with a few examples. */
function log(notice: ReconcilerNotice, { logger, logError }: Deps): void {
  switch (notice.kind) {
    case "queue_changed":
      return logger.warn(
        { sources: notice.sources },
        "a queue is new or was restarted, flushed, or restored; comparing all pending events with it",
      );
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
      return logError("reconciler", notice.error);
    case "follows":
      return;
  }
}

function passFields({ found, repaired, looked, tookMs }: ReconcilerNotice & { kind: "passed" }) {
  const kinds = [...found].map(([kind, { count, examples }]) => {
    const shown = examples.map(({ source, eventId, generation }) => {
      return { source, event_id: eventId, generation };
    });
    return [kind, { count, examples: shown }] as const;
  });
  return { compared: looked, repaired, took_ms: tookMs, found: Object.fromEntries(kinds) };
}
