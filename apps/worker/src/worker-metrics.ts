import type { Notice } from "@millrace/processor";
import type { QueueNotice } from "@millrace/queue";
import { Gauge, type Registry } from "prom-client";
import { createInstruments, type Instruments } from "./instruments.ts";

/** Counts what the processor and the queue tell. Labels are never what a sender chose. */
export interface WorkerMetrics {
  observe(notice: Notice): void;
  observeQueue(notice: QueueNotice): void;
  /** Shows a number that changes by itself, read when the metrics are. */
  showRunning(read: () => number): void;
}

/** Registers the worker's metrics. */
export function createWorkerMetrics(registry: Registry): WorkerMetrics {
  const instruments = createInstruments(registry);
  return {
    observe: (notice) => observe(instruments, notice),
    observeQueue: (notice) => observeQueue(instruments, notice),
    showRunning: (read) =>
      registry.registerMetric(
        new Gauge({
          name: "millrace_worker_running_handlers",
          help: "Events whose handlers run just now.",
          registers: [],
          collect() {
            this.set(read());
          },
        }),
      ),
  };
}

function observe(instruments: Instruments, notice: Notice): void {
  const { source } = notice.key;
  switch (notice.kind) {
    case "claimed":
      // Later attempts would measure the backoff and not the queue.
      if (notice.attempt === 1)
        instruments.queueAge.observe({ source }, seconds(notice.queueAgeMs));
      return;
    case "conflict":
      return instruments.conflicts.inc({ source });
    case "settled":
      return observeSettled(instruments, notice);
    case "attempt_failed":
      return instruments.attemptsFailed.inc({ source, code: notice.code });
    case "unrecorded":
      return instruments.unrecorded.inc({ step: notice.step });
    case "handler_ignored_abort":
      return instruments.ignoredAborts.inc({ source });
  }
}

function observeSettled(instruments: Instruments, notice: Notice & { kind: "settled" }): void {
  const { settlement, outcome, handlerMs, sinceReceivedMs } = notice;
  // A job can name a source that no config has; it must not make a label.
  const source = notice.code === "unknown_source" ? "unknown" : notice.key.source;
  instruments.settled.inc({ source, outcome: outcome ?? settlement });
  if (handlerMs !== undefined) instruments.handler.observe({ source }, seconds(handlerMs));
  if (settlement === "completed") {
    instruments.receiptToCompletion.observe({ source }, seconds(sinceReceivedMs));
  }
}

function observeQueue(instruments: Instruments, notice: QueueNotice): void {
  switch (notice.kind) {
    case "lock_lost":
      return instruments.locksLost.inc({ source: notice.source });
    case "stalled":
      return instruments.stalled.inc({ source: notice.source });
    case "gave_up":
      return instruments.gaveUp.inc({ source: notice.source });
    case "refused":
      return instruments.refused.inc({ source: notice.source, code: notice.code });
    case "trouble":
    case "rested":
      return instruments.queueTrouble.inc();
  }
}

// Two machines' clocks can give a time below nothing.
function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000;
}
