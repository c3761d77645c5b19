import type { Notice } from "@millrace/processor";
import { metricsOf, type ErrorLog, type Logger } from "@millrace/service";
import type { Registry } from "prom-client";

export interface ObserverDeps {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly logError: ErrorLog;
  readonly sources: readonly string[];
  readonly running: () => number;
  readonly leading: () => boolean;
}

type Deps = Omit<ObserverDeps, "leading">;

export function observeProcessor(deps: Deps): (notice: Notice) => void {
  const count = createProcessorMetrics(deps);
  return (notice) => {
    count(notice);
    log(notice, deps);
  };
}

/** No label is a sender's text. @internal */
export function createProcessorMetrics({
  registry,
  running,
  sources,
}: Pick<Deps, "registry" | "running" | "sources">): (notice: Notice) => void {
  const metrics = registerMetrics(registry);
  // Ratios and alerts need a 0 before the first event.
  for (const source of sources) {
    metrics.groupsUndone.inc({ source }, 0);
    for (const labels of MAC_FAILURES) metrics.macFailures.inc({ source, ...labels }, 0);
    metrics.groupSize.zero({ source });
  }
  metricsOf(registry).scraped(
    "millrace_worker_running_handlers",
    "Events whose handlers run now.",
    [],
    (gauge) => gauge.set(running()),
  );

  function countFinished(notice: Notice & { kind: "finished" }): void {
    const { result, outcome, handlerMs, sinceReceivedMs } = notice;
    // A job can name a source that no config has; it must not become a label.
    const source = notice.code === "unknown_source" ? "unknown" : notice.key.source;
    metrics.finished.inc({ source, outcome: outcome ?? result });
    if (handlerMs !== undefined) metrics.handler.observe({ source }, seconds(handlerMs));
    if (result === "completed") {
      metrics.receiptToCompletion.observe({ source }, seconds(sinceReceivedMs));
    }
  }

  return (notice) => {
    const { source } = "key" in notice ? notice.key : notice;
    switch (notice.kind) {
      case "group_ended":
        metrics.groupSize.observe({ source }, notice.size);
        if (notice.undone > 0) metrics.groupsUndone.inc({ source });
        return;
      case "claimed":
        // Later attempts would measure the back-off and not the queue.
        if (notice.attempt > 1) return;
        return metrics.queueAge.observe({ source }, seconds(notice.queueAgeMs));
      case "mac_invalid":
        return metrics.macFailures.inc({
          ...{ source, mac: notice.mac, result: notice.refused ? "refused" : "run" },
        });
      case "finished":
        return countFinished(notice);
      case "attempt_failed":
        return metrics.attemptsFailed.inc({ source, code: notice.code });
      case "unrecorded":
        return metrics.unrecorded.inc({ step: notice.step });
    }
  };
}

const MAC_FAILURES = [
  { mac: "missing", result: "refused" },
  { mac: "missing", result: "run" },
  { mac: "wrong", result: "refused" },
  { mac: "wrong", result: "run" },
] as const;

const HANDLER_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const WAIT_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
];
const GROUP_SIZES = [2, 5, 10, 20, 35, 50];

function registerMetrics(registry: Registry) {
  const { counter, histogram } = metricsOf(registry);
  return {
    finished: counter(
      "millrace_worker_jobs_total",
      "Job runs that have ended, by source and outcome (handled, ignored, suspected_replay, duplicate, failed, retry, lost).",
      "source",
      "outcome",
    ),
    handler: histogram(
      "millrace_worker_handler_seconds",
      "How long the handlers of an attempt ran.",
      HANDLER_SECONDS,
    ),
    receiptToCompletion: histogram(
      "millrace_worker_receipt_to_completion_seconds",
      "Time from when the ingress received an event to its completion, by two machines' clocks.",
      WAIT_SECONDS,
    ),
    queueAge: histogram(
      "millrace_worker_queue_age_seconds",
      "Time from when the queue took an event to its first attempt.",
      WAIT_SECONDS,
    ),
    groupSize: histogram(
      "millrace_worker_group_size",
      "Events whose first attempts shared a transaction.",
      GROUP_SIZES,
    ),
    groupsUndone: counter(
      "millrace_groups_undone_total",
      "Groups of first attempts that were rolled back after handlers had run: their events were attempted again one by one.",
      "source",
    ),
    attemptsFailed: counter(
      "millrace_worker_attempts_failed_total",
      "Attempts that did not complete their event, by source and error code.",
      "source",
      "code",
    ),
    macFailures: counter(
      "millrace_worker_job_mac_failures_total",
      "Runs of jobs without a valid MAC, by what is wrong with it (missing, wrong) and result (refused, run).",
      "source",
      "mac",
      "result",
    ),
    unrecorded: counter(
      "millrace_worker_ledger_write_failures_total",
      "Steps that could not be written to Postgres in time, by step (record, fail).",
      "step",
    ),
  };
}

// Two clocks can give a negative time.
function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}

const MESSAGE_CHARS_MAX = 500;

/** Logs one line a second for the errors of a dead server; no line has a body or a header. */
function log(notice: Notice, { logger, logError }: Deps): void {
  if (notice.kind === "group_ended" || notice.kind === "claimed") return;
  // The end of most jobs costs nothing without the level debug.
  const isOrdinary = notice.kind === "finished" && notice.result === "completed";
  if (isOrdinary && !logger.isLevelEnabled("debug")) return;
  const { source, eventId, generation } = notice.key;
  const names = { source, event_id: eventId, generation };
  switch (notice.kind) {
    case "conflict":
      return logError(
        `conflict: ${source}`,
        `event ${eventId} came with a different body or type; the first is kept`,
      );
    case "mac_invalid":
      if (notice.mac === "missing" && !notice.refused) return;
      return logError(
        `job MAC ${notice.mac}: ${source}`,
        `a job of event ${eventId} ${notice.refused ? "was refused" : "ran with what the ledger has"}`,
      );
    case "finished":
      if (notice.result === "failed" && notice.handlerMs === undefined) {
        return logError(`job rejected: ${notice.code}`, `a job of source ${source} was failed`);
      }
      return logger.debug({ ...names, ...ends(notice) }, "job finished");
    case "attempt_failed": {
      const { attempt, code, final, counts } = notice;
      const reason = notice.message.slice(0, MESSAGE_CHARS_MAX);
      const fields = { ...names, attempt, code, reason };
      if (code === "retry_later") return logger.info(fields, "event waits");
      if (!counts) return logError(`attempt: ${code}`, reason);
      return final ? logger.error(fields, "event failed") : logger.warn(fields, "attempt failed");
    }
    case "unrecorded":
      return logError(`ledger: ${notice.step}`, notice.message);
    case "handler_ignored_abort":
      return logger.warn(names, "handler is still running after its signal was aborted");
  }
}

function ends(notice: Notice & { kind: "finished" }) {
  const { result: settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs } = notice;
  return { settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs };
}
