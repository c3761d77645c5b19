import type { EventLookup } from "@millrace/core";
import type { ReplayResult, RetryResult, Skip } from "@millrace/operations";
import { awaitEnd, describeEnd, exitCodeOf } from "./await-end.ts";
import type { CliContext } from "./context.ts";
import { printable } from "./terminal-text.ts";
import { withOperator } from "./stores.ts";

/** What is done with events. */
export type Verb = "retry" | "replay";

const DONE: Record<Verb, string> = { retry: "retried", replay: "replayed" };

/** Why an event was left alone, in words. */
export const REASONS: Record<Skip | "not_pending" | "event_running", string> = {
  not_failed: "not failed, or already queued again",
  not_settled: "pending",
  superseded: "a later generation exists",
  not_found: "neither the ledger nor the queue knows it",
  unknown_source: "the config has no source of this name, so no worker would run it",
  only_in_queue: "only its job exists, and no worker could record it: see the queue dashboard",
  body_missing: "its body is no longer kept",
  not_pending: "already completed or failed",
  event_running: "its handler was running",
};

/** Which event is run again, and how. */
export interface OneOptions {
  readonly lookup: EventLookup;
  readonly json: boolean;
  readonly reason: string | undefined;
  /** Milliseconds to wait for what becomes of it; undefined for not to wait. */
  readonly waitMs: number | undefined;
}

/** Retries or replays one event, and says whether it was, and what became of it if it is waited for. Gives the exit code. */
export async function runOne(
  context: CliContext,
  verb: Verb,
  { lookup, json, reason, waitMs }: OneOptions,
): Promise<number> {
  return await withOperator(context, reason, async (operator, ledger) => {
    const result: RetryResult | ReplayResult =
      verb === "retry" ? await operator.retryEvent(lookup) : await operator.replayEvent(lookup);
    const isDone = result.kind !== "skipped";
    const waits = isDone && waitMs !== undefined;
    if (!json) context.stdout.write(`${oneAsText(verb, lookup, result)}\n`);
    const run = result.kind === "replayed" ? { ...lookup, generation: result.generation } : lookup;
    const ended = waits ? await awaitEnd(ledger, run, waitMs) : undefined;
    if (json) {
      const event = waits ? { event: ended ?? null } : {};
      context.stdout.write(`${JSON.stringify({ ...oneAsJson(verb, result), ...event })}\n`);
    } else if (waits) context.stdout.write(`${describeEnd(ended, waitMs)}\n`);
    return waits ? exitCodeOf(ended) : isDone ? 0 : 1;
  });
}

function oneAsJson(verb: Verb, result: RetryResult | ReplayResult) {
  const isDone = result.kind !== "skipped";
  return {
    [DONE[verb]]: isDone ? 1 : 0,
    skipped: isDone ? {} : { [result.reason]: 1 },
    ...(result.kind === "replayed" ? { generation: result.generation } : {}),
  };
}

function oneAsText(verb: Verb, lookup: EventLookup, result: RetryResult | ReplayResult): string {
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  if (result.kind === "skipped") {
    const why = result.reason;
    return `not ${DONE[verb]} ${name}: ${REASONS[why]} (${why})`;
  }
  const as = result.kind === "replayed" ? ` as generation ${result.generation}` : "";
  return `${DONE[verb]} ${name}${as}`;
}
