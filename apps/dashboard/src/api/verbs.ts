import { COUNT_MAX, type AnswerOf, type BulkRun, type ReadBodyOf } from "@millrace/api-contract";
import { REASON_WORDS, VERB_WORDS, type SkipReason } from "@millrace/api-contract/run-text";
import { MillraceError, type ErrorCode, type EventLookup } from "@millrace/core";
import type { EventSearch } from "@millrace/ledger";
import { countResults, requireBulk, type Operator } from "@millrace/operations";
import type { Response } from "express";
import { eventNotFound } from "./event-json.ts";

type Verb = keyof typeof VERB_WORDS;

/** For one event. Its code is the reason, such as `not_failed` or `body_missing`. */
export function refusal(verb: Verb, reason: SkipReason, { eventId }: EventLookup): MillraceError {
  if (reason === "not_found") return eventNotFound(eventId);
  const code = reason === "only_in_queue" ? STATE_CODES[verb] : reason;
  const message = `Cannot ${VERB_WORDS[verb].verb} the event: ${REASON_WORDS[reason]}`;
  return new MillraceError(code, message);
}

const STATE_CODES: Record<Verb, ErrorCode> = {
  retry: "not_failed",
  replay: "not_settled",
  give_up: "not_pending",
};

/** An event whose job the queue did not take is pending: the reconciler adds the job. */
export async function retryNamed(
  operator: Operator,
  named: NonNullable<ReadBodyOf<"post /retry">["events"]>,
): Promise<AnswerOf<"post /retry">> {
  const keys = named.map(({ event_id: eventId, ...key }) => ({ ...key, eventId }));
  const results = await operator.retryEvents(keys);
  const events = named.map((event, index) => {
    const result = results[index];
    return { ...event, result: result?.kind === "skipped" ? result.reason : "retried" };
  });
  return { ...countResults(results), dryRun: false, events };
}

/** A retry and a give-up have fewer filters. */
type BulkBody = ReadBodyOf<"post /replay">;

interface BulkCall {
  readonly body: BulkBody;
  readonly response: Response;
  readonly read: (filter: EventSearch) => Promise<EventSearch>;
}

/** All but the number, which each verb names in its own way. */
type Counted = Omit<Exclude<AnswerOf<"post /give-up">, { run: BulkRun }>, "given_up">;

/**
 * A dry run counts, by `nameCount`, the events that would not be skipped.
 * @throws `invalid_request`, `count_mismatch`, `error_not_found`, `unknown_source`
 */
export async function runFiltered<Count>(
  operator: Operator,
  verb: Verb,
  { body, response, read }: BulkCall,
  nameCount: (count: number) => Count,
): Promise<{ run: BulkRun } | (Count & Counted)> {
  const { limit, all, expected, dryRun, reason: _, ...rest } = body;
  const { canary, rate: ratePerSecond, failed_share_max: failedShareMax, ...given } = rest;
  // The others have a status of their own.
  const isAsked = verb === "replay" || (verb === "retry" && given.status === "pending");
  const status = isAsked ? given.status : undefined;
  const filter = requireBulk(await read({ ...given, status }));
  if (!dryRun) {
    const how = { canary, failedShareMax, ratePerSecond };
    const run = await operator.startRun(verb, { filter, limit, all, expected, ...how });
    response.status(202);
    return { run };
  }
  const { count, more, skipped } = await operator.countRun(verb, { filter, all, limit });
  const left = Object.values(skipped).reduce((sum, of) => sum + of, 0);
  return {
    ...nameCount(Math.max(0, count - left)),
    skipped,
    dryRun: true,
    ...(more ? { more_than: COUNT_MAX } : {}),
  };
}
