import { MillraceError, type ErrorCode } from "@millrace/core";
import type { EventLookup } from "@millrace/ledger";
import type { Operator, Skip } from "@millrace/operations";
import { eventNotFound } from "./event-json.ts";

/**
 * Retries one event for the API.
 *
 * @throws `event_not_found`, `unknown_source`, `not_failed`, `body_missing` when it was not retried.
 */
export async function answerRetry(operator: Operator, lookup: EventLookup) {
  const result = await operator.retryEvent(lookup);
  if (result.kind === "skipped") throw refusal("retry", "not_failed", result.reason, lookup);
  return { retried: 1, skipped: {} };
}

/**
 * Replays one event for the API, and names its new generation.
 *
 * @throws `event_not_found`, `unknown_source`, `not_settled`, `superseded`, `body_missing` when it was
 * not replayed.
 */
export async function answerReplay(operator: Operator, lookup: EventLookup) {
  const result = await operator.replayEvent(lookup);
  if (result.kind === "skipped") throw refusal("replay", "not_settled", result.reason, lookup);
  return { replayed: 1, skipped: {}, generation: result.generation };
}

type Refusals = Record<Exclude<Skip, "not_found">, string>;

const WHY: Refusals = {
  not_failed: "it is completed, or already on its way",
  not_settled: "it is pending, and runs or is about to",
  superseded: "a later generation of it is there",
  unknown_source: "its source is not configured",
  only_in_queue:
    "only its failed job is known, which could not be recorded; the job's failure says why",
  body_missing: "its body is no longer kept",
};

function refusal(
  verb: string,
  state: ErrorCode,
  reason: Skip,
  { eventId }: EventLookup,
): MillraceError {
  if (reason === "not_found") return eventNotFound(eventId);
  const code = reason === "only_in_queue" ? state : reason;
  return new MillraceError(code, `Cannot ${verb} the event: ${WHY[reason]}`);
}
