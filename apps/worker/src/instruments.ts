import { Counter, Histogram, type Registry } from "prom-client";

const HANDLER_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
const WAIT_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
];

export type Instruments = ReturnType<typeof createInstruments>;

/** Every counter and histogram of the worker. */
export function createInstruments(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `millrace_worker_${name}_total`, help, labelNames, registers: [registry] });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({
      name: `millrace_worker_${name}_seconds`,
      help,
      labelNames: ["source"],
      buckets,
      registers: [registry],
    });
  return {
    settled: counter(
      "settled",
      "Runs of jobs settled, by source and outcome (handled, ignored, duplicate, failed, retry, lost).",
      ["source", "outcome"],
    ),
    handler: histogram("handler", "How long the handlers of an attempt ran.", HANDLER_SECONDS),
    queueAge: histogram(
      "queue_age",
      "From the queue's taking an event in to its first attempt.",
      WAIT_SECONDS,
    ),
    receiptToCompletion: histogram(
      "receipt_to_completion",
      "From the ingress's receipt of an event to its completion, by two machines' clocks.",
      WAIT_SECONDS,
    ),
    attemptsFailed: counter(
      "attempts_failed",
      "Attempts that did not complete their event, by source and error code.",
      ["source", "code"],
    ),
    conflicts: counter(
      "conflicts",
      "Jobs whose event is known with another body. The first body is kept.",
      ["source"],
    ),
    unrecorded: counter("unrecorded", "Steps that Postgres could not be told of in time.", [
      "step",
    ]),
    ignoredAborts: counter(
      "handlers_ignored_abort",
      "Handlers that went on for a second after their signal had aborted.",
      ["source"],
    ),
    locksLost: counter("locks_lost", "Jobs whose lock in the queue was lost while they ran.", [
      "source",
    ]),
    stalled: counter("stalled", "Jobs that were found to have lost their worker.", ["source"]),
    gaveUp: counter("gave_up", "Jobs that the queue failed without running them.", ["source"]),
    refused: counter("refused", "Jobs that this build did not write or cannot read.", [
      "source",
      "code",
    ]),
    queueTrouble: counter("queue_trouble", "Errors of the queue that nobody waits for.", []),
  };
}
