import type { AnswerOf, ReadBodyOf } from "@millrace/api-contract";
import { MillraceError, type ErrorCode, type EventLookup } from "@millrace/core";
import { countResults, type Operator, type Skip } from "@millrace/operations";
import { eventNotFound } from "./event-json.ts";

type Retry = "post /events/:source/:eventId/retry";
type Replay = "post /events/:source/:eventId/replay";

/**
 * Retries one event for the API.
 *
 * @throws `event_not_found`, `unknown_source`, `not_failed`, `body_missing` when it was not retried.
 */
export async function retryOne(operator: Operator, lookup: EventLookup): Promise<AnswerOf<Retry>> {
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
export async function replayOne(
  operator: Operator,
  lookup: EventLookup,
): Promise<AnswerOf<Replay>> {
  const result = await operator.replayEvent(lookup);
  if (result.kind === "skipped") throw refusal("replay", "not_settled", result.reason, lookup);
  return { replayed: 1, skipped: {}, generation: result.generation };
}

type Refusals = Record<Exclude<Skip, "not_found">, string>;

const WHY: Refusals = {
  not_failed: "it is completed, or already queued again",
  not_settled: "it is pending: it is running or about to run",
  superseded: "a later generation exists",
  unknown_source: "its source is not configured",
  only_in_queue: "only its failed job exists, and it could not be recorded; see the job's failure",
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

/**
 * Retries the events that are named, all at once: an answer for each. One whose job the queue did not take is pending: the
 * reconciler adds it.
 */
export async function retryNamed(
  operator: Operator,
  named: NonNullable<ReadBodyOf<"post /retry">["events"]>,
): Promise<AnswerOf<"post /retry">> {
  const keys = named.map(({ event_id: eventId, ...key }) => ({ ...key, eventId }));
  const results = await operator.retryEvents(keys);
  const events = named.map((event, place) => {
    const result = results[place];
    return { ...event, result: result?.kind === "skipped" ? result.reason : "retried" };
  });
  return { ...countResults(results), dryRun: false, events };
}
