import type { AnswerOf, ReadBodyOf } from "@millrace/api-contract";
import { MillraceError, type ErrorCode, type EventLookup } from "@millrace/core";
import type { BulkResult, Operator, Skip } from "@millrace/operations";
import type { Response } from "express";
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
  not_failed: "it is completed, or already on its way",
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
 * Retries the failed events of a filter; what has not begun when the client goes away is left alone.
 *
 * @throws `invalid_request`, `unknown_source`; `unavailable` with how far it came.
 */
export async function retryFiltered(
  operator: Operator,
  body: ReadBodyOf<"post /retry">,
  response: Response,
): Promise<AnswerOf<"post /retry">> {
  const { status: _failed, limit, all, dryRun, rate, reason: _why, ...filter } = body;
  const how = { limit, all, dryRun, ratePerSecond: rate, signal: untilGone(response) };
  const result = await operator.retryMany({ filter, ...how });
  requireWhole("retried", result);
  return { retried: result.done, skipped: result.skipped, dryRun };
}

/**
 * Replays the settled events of a filter; what has not begun when the client goes away is left alone.
 *
 * @throws `invalid_request`, `unknown_source`; `unavailable` with how far it came.
 */
export async function replayFiltered(
  operator: Operator,
  body: ReadBodyOf<"post /replay">,
  response: Response,
): Promise<AnswerOf<"post /replay">> {
  const { limit, all, dryRun, rate, reason: _why, ...filter } = body;
  const how = { limit, all, dryRun, ratePerSecond: rate, signal: untilGone(response) };
  const result = await operator.replayMany({ filter, ...how });
  requireWhole("replayed", result);
  return { replayed: result.done, skipped: result.skipped, dryRun };
}

/** Aborts when the client goes away before it was answered. */
function untilGone(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function requireWhole(verbed: string, { done, stopped }: BulkResult): void {
  if (!(stopped instanceof Error)) return;
  throw new MillraceError(
    "unavailable",
    `Cannot go on: ${done} events were ${verbed}, then Postgres or the queue failed. Ask again for the rest`,
    { cause: stopped },
  );
}
