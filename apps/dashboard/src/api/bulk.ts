import {
  COUNT_MAX,
  type AnswerOf,
  type BulkRun,
  type BulkVerb,
  type ReadBodyOf,
} from "@millrace/api-contract";
import type { Operator } from "@millrace/operations";
import type { Response } from "express";

/**
 * Starts a retry of the failed events of a filter, and answers 202; a dry run counts them.
 *
 * @throws `invalid_request`, `count_mismatch`, `unknown_source`
 */
export async function retryFiltered(
  operator: Operator,
  { status: _failed, events: _none, ...body }: ReadBodyOf<"post /retry">,
  response: Response,
): Promise<AnswerOf<"post /retry">> {
  if (!body.dryRun) return await start(operator, "retry", body, response);
  const { count, ...counted } = await countFiltered(operator, "retry", body);
  return { retried: count, ...counted };
}

/**
 * Starts a replay of the settled events of a filter, and answers 202; a dry run counts them.
 *
 * @throws `invalid_request`, `count_mismatch`, `unknown_source`
 */
export async function replayFiltered(
  operator: Operator,
  body: ReadBodyOf<"post /replay">,
  response: Response,
): Promise<AnswerOf<"post /replay">> {
  if (!body.dryRun) return await start(operator, "replay", body, response);
  const { count, ...counted } = await countFiltered(operator, "replay", body);
  return { replayed: count, ...counted };
}

/**
 * Starts a run that gives the pending events of a filter up, and answers 202; a dry run counts them.
 *
 * @throws `invalid_request`, `count_mismatch`
 */
export async function giveUpFiltered(
  operator: Operator,
  { status: _pending, ...body }: ReadBodyOf<"post /give-up">,
  response: Response,
): Promise<AnswerOf<"post /give-up">> {
  if (!body.dryRun) return await start(operator, "give_up", body, response);
  const { count, ...counted } = await countFiltered(operator, "give_up", body);
  return { given_up: count, ...counted };
}

async function start(
  operator: Operator,
  verb: BulkVerb,
  body: ReadBodyOf<"post /replay">,
  response: Response,
): Promise<{ run: BulkRun }> {
  const { limit, all, expected, dryRun: _false, rate, reason: _why, ...filter } = body;
  const how = { limit, all, expected, ratePerSecond: rate };
  const run = await operator.startRun(verb, { filter, ...how });
  response.status(202);
  return { run };
}

/** Events that are known to be skipped are told apart from the others. */
async function countFiltered(
  operator: Operator,
  verb: BulkVerb,
  body: ReadBodyOf<"post /replay">,
): Promise<Counted> {
  const { limit, all, expected: _none, dryRun: _true, rate: _any, reason: _why, ...filter } = body;
  const { count, more, skipped } = await operator.countRun(verb, { filter, all, limit });
  const left = Object.values(skipped).reduce((sum, of) => sum + of, 0);
  return {
    count: Math.max(0, count - left),
    skipped,
    dryRun: true,
    ...(more ? { more_than: COUNT_MAX } : {}),
  };
}

interface Counted {
  readonly count: number;
  readonly skipped: Readonly<Record<string, number>>;
  readonly dryRun: true;
  readonly more_than?: typeof COUNT_MAX;
}
