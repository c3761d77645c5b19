import { DISAGREEMENT_KINDS, type ReconcilerNotice } from "@millrace/operations";
import { Counter, Gauge, type Registry } from "prom-client";

/** What the reconciler finds and does, in numbers. */
export interface ReconcilerMetrics {
  observe(notice: ReconcilerNotice): void;
  /** Shows whether this process leads, read when the metrics are. */
  showLeading(read: () => boolean): void;
}

/** Registers the reconciler's metrics. Of several workers only the one that leads counts anything. */
export function createReconcilerMetrics(registry: Registry): ReconcilerMetrics {
  const registers = [registry];
  const labelNames = ["kind"] as const;
  const disagreements = new Gauge({
    name: "millrace_disagreements",
    help: "Events on which ledger and queue disagreed when the reconciler last looked, by kind.",
    ...{ labelNames, registers },
  });
  const mended = new Counter({
    name: "millrace_reconciler_mended_total",
    help: "Disagreements of ledger and queue that were mended, by kind.",
    ...{ labelNames, registers },
  });
  const looked = new Counter({
    name: "millrace_reconciler_looked_total",
    help: "Pending events and ended jobs that were compared.",
    registers,
  });
  const lastPass = new Gauge({
    name: "millrace_reconciler_last_pass_seconds",
    help: "When this process last finished a pass, in Unix time.",
    registers,
  });
  const reset = () => {
    for (const kind of DISAGREEMENT_KINDS) disagreements.set({ kind }, 0);
  };
  reset();
  for (const kind of DISAGREEMENT_KINDS) mended.inc({ kind }, 0);

  function observePass(pass: ReconcilerNotice & { kind: "passed" }): void {
    for (const kind of DISAGREEMENT_KINDS) {
      // Only a pass over everything looks at what has completed.
      if (kind === "unrecorded_job_completed" && !pass.whole) continue;
      disagreements.set({ kind }, pass.found.get(kind)?.count ?? 0);
    }
    for (const [kind, count] of pass.mendedByKind) mended.inc({ kind }, count);
    looked.inc(pass.looked);
    lastPass.setToCurrentTime();
  }

  return {
    observe: (notice) => {
      if (notice.kind === "passed") observePass(notice);
      else if (notice.kind === "follows") reset();
    },
    showLeading: (read) =>
      registry.registerMetric(
        new Gauge({
          name: "millrace_reconciler_leader",
          help: "1 in the one worker that compares ledger and queues.",
          registers: [],
          collect() {
            this.set(read() ? 1 : 0);
          },
        }),
      ),
  };
}
