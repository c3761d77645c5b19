import { COUNT_MAX, type AnswerOf, type BulkRun, type ReadBodyOf } from "@millrace/api-contract";
import { REASON_WORDS, VERB_WORDS, type SkipReason } from "@millrace/api-contract/run-text";
import { MillraceError, type ErrorCode, type EventLookup } from "@millrace/core";
import type { EventSearch } from "@millrace/ledger";
import { countResults, requireBulk, type Operator, type ReplayLookup } from "@millrace/operations";
import type { Response } from "express";
import { eventNotFound } from "./event-json.ts";

type Verb = keyof typeof VERB_WORDS;
type One<Name extends "retry" | "replay" | "give-up"> =
  AnswerOf<`post /events/:source/:eventId/${Name}`>;

/** @throws `event_not_found`, `unknown_source`, `not_failed`, `body_missing` */
export async function retryOne(operator: Operator, lookup: EventLookup): Promise<One<"retry">> {
  const result = await operator.retryEvent(lookup);
  if (result.kind === "skipped") throw refusal("retry", result.reason, lookup);
  return { retried: 1, skipped: {} };
}

/** @throws `event_not_found`, `unknown_source`, `not_settled`, `superseded`, `body_missing` */
export async function replayOne(operator: Operator, lookup: ReplayLookup): Promise<One<"replay">> {
  const result = await operator.replayEvent(lookup);
  if (result.kind === "skipped") throw refusal("replay", result.reason, lookup);
  return { replayed: 1, skipped: {}, generation: result.generation };
}

/** @throws `event_not_found`, `not_pending`, `event_running` */
export async function giveUpOne(operator: Operator, lookup: EventLookup): Promise<One<"give-up">> {
  const result = await operator.giveUpEvent(lookup);
  if (result.kind === "skipped") throw refusal("give_up", result.reason, lookup);
  return { given_up: 1 };
}

function refusal(verb: Verb, reason: SkipReason, { eventId }: EventLookup): MillraceError {
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

/** @throws `invalid_request`, `count_mismatch`, `error_not_found`, `unknown_source` */
export async function runFiltered<Count>(
  operator: Operator,
  verb: Verb,
  { body, response, read }: BulkCall,
  nameCount: (count: number) => Count,
): Promise<{ run: BulkRun } | (Count & Counted)> {
  const { limit, all, expected, canary, rate: ratePerSecond } = body;
  const filter = requireBulk(await read(filterOf(verb, body)));
  if (!body.dryRun) {
    const how = { canary, failedShareMax: body.failed_share_max, ratePerSecond };
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

interface Counted {
  /** By reason. `nameCount` gets the number of the others. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly dryRun: true;
  readonly more_than?: typeof COUNT_MAX;
}

function filterOf(
  verb: Verb,
  { source, tenant, type, status, outcome, error, q, run, since, until, find }: BulkBody,
): EventSearch {
  const filter = { source, tenant, type, outcome, error, q, run, since, until, find };
  return verb === "replay" ? { ...filter, status } : filter;
}
