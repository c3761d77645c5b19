import type { EventKey } from "@millrace/core";
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

const MESSAGE_CHARS_MAX = 500;

/** No label is a sender's text, and no line has a body or a header. */
export function observeProcessor({ registry, logger, logError, running, sources }: ObserverDeps) {
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

  function countFinished(notice: Finished): void {
    const { result, outcome, handlerMs, sinceReceivedMs } = notice;
    // A job can name a source that no config has; it must not become a label.
    const source = notice.code === "unknown_source" ? "unknown" : notice.key.source;
    metrics.finished.inc({ source, outcome: outcome ?? result });
    if (handlerMs !== undefined) metrics.handler.observe({ source }, seconds(handlerMs));
    if (result === "completed") {
      metrics.receiptToCompletion.observe({ source }, seconds(sinceReceivedMs));
    }
  }

  return (notice: Notice): void => {
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
      case "conflict":
        return logError(
          `conflict: ${source}`,
          `event ${notice.key.eventId} came with a different body or type; the first is kept`,
        );
      case "mac_invalid": {
        const { mac, refused, key } = notice;
        metrics.macFailures.inc({ source, mac, result: refused ? "refused" : "run" });
        if (mac === "missing" && !refused) return;
        return logError(
          `job MAC ${mac}: ${source}`,
          `a job of event ${key.eventId} ${refused ? "was refused" : "ran with what the ledger has"}`,
        );
      }
      case "finished":
        countFinished(notice);
        // The end of most jobs costs nothing without the level debug.
        if (notice.result === "completed" && !logger.isLevelEnabled("debug")) return;
        if (notice.result === "failed" && notice.handlerMs === undefined) {
          return logError(`job rejected: ${notice.code}`, `a job of source ${source} was failed`);
        }
        return logger.debug({ ...namesOf(notice), ...ends(notice) }, "job finished");
      case "attempt_failed": {
        const { attempt, code, final, counts } = notice;
        metrics.attemptsFailed.inc({ source, code });
        const reason = notice.message.slice(0, MESSAGE_CHARS_MAX);
        const fields = { ...namesOf(notice), attempt, code, reason };
        if (code === "retry_later") return logger.info(fields, "event waits");
        if (!counts) return logError(`attempt: ${code}`, reason);
        return final ? logger.error(fields, "event failed") : logger.warn(fields, "attempt failed");
      }
      case "unrecorded":
        metrics.unrecorded.inc({ step: notice.step });
        return logError(`ledger: ${notice.step}`, notice.message);
      case "handler_ignored_abort":
        return logger.warn(
          namesOf(notice),
          "handler is still running after its signal was aborted",
        );
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

type Finished = Notice & { kind: "finished" };

function namesOf({ key: { source, eventId, generation } }: { readonly key: EventKey }) {
  return { source, event_id: eventId, generation };
}

function ends(notice: Finished) {
  const { result: settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs } = notice;
  return { settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs };
}
