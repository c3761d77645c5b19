import { MillraceError } from "@millrace/core";
import { createOperator, type BulkResult } from "@millrace/operations";
import type { Request, Response } from "express";
import type { DashboardLedger, DashboardQueues } from "../ports.ts";
import { principalOf } from "../security/guard.ts";
import { parseReplayBody, parseRetryBody } from "./bulk-body.ts";

interface Deps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
}

/**
 * Retries the failed events of a filter; what has not begun when the client goes away is left alone.
 *
 * @throws `invalid_request`, `unknown_source`; `unavailable` with how far it came.
 */
export async function answerRetryMany(deps: Deps, request: Request, response: Response) {
  const { options, reason } = parseRetryBody(request.body);
  const signal = untilGone(response);
  const operator = createOperator(deps, { ...principalOf(request), reason });
  const result = await operator.retryMany({ ...options, signal });
  requireWhole("retried", result);
  return { retried: result.done, skipped: result.skipped, dryRun: options.dryRun };
}

/**
 * Replays the settled events of a filter; what has not begun when the client goes away is left alone.
 *
 * @throws `invalid_request`, `unknown_source`; `unavailable` with how far it came.
 */
export async function answerReplayMany(deps: Deps, request: Request, response: Response) {
  const { options, reason } = parseReplayBody(request.body);
  const signal = untilGone(response);
  const operator = createOperator(deps, { ...principalOf(request), reason });
  const result = await operator.replayMany({ ...options, signal });
  requireWhole("replayed", result);
  return { replayed: result.done, skipped: result.skipped, dryRun: options.dryRun };
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
