import type { EventLookup } from "@millrace/core";
import type { GiveUpAnswer } from "@millrace/ledger";
import { type ReplayResult, type RetryResult, type Skip, giveUpEvent } from "@millrace/operations";
import { awaitEnd, describeEnd, exitCodeOf } from "../await-end.ts";
import type { CliContext } from "../context.ts";
import { withOperator, withStores } from "../stores.ts";
import { printable } from "../terminal-text.ts";

type Verb = "retry" | "replay";

const DONE: Record<Verb, string> = { retry: "retried", replay: "replayed" };

/** Reasons to skip an event, in words. */
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
interface OneOptions {
  readonly lookup: EventLookup;
  readonly json: boolean;
  readonly reason: string | undefined;
  /** Milliseconds to wait for what becomes of it; undefined for not to wait. */
  readonly waitMs: number | undefined;
}

/** Retries or replays one event and prints its result. Returns the exit code. */
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

/** Reasons not to give an event up, each with its code. */
const GIVE_UP_REASONS: Record<
  Exclude<GiveUpAnswer, "given_up">,
  readonly [code: string, why: string]
> = {
  running: ["event_running", "its handler is running; ask again when the attempt has ended"],
  not_pending: ["not_pending", "it is already completed or failed"],
  not_found: ["event_not_found", "the ledger does not know it"],
};

interface GiveUpOptions {
  readonly lookup: EventLookup;
  readonly json: boolean;
  readonly reason: string | undefined;
}

/** Gives one event up, and says what became of it. Gives the exit code. */
export async function runGiveUp(
  context: CliContext,
  { lookup, json, reason }: GiveUpOptions,
): Promise<number> {
  const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
  const answer = await withStores(context, (stores) => giveUpEvent({ ...stores, actor }, lookup));
  const isDone = answer === "given_up";
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  if (json) {
    const outcome = {
      given_up: isDone ? 1 : 0,
      skipped: isDone ? {} : { [GIVE_UP_REASONS[answer][0]]: 1 },
    };
    context.stdout.write(`${JSON.stringify(outcome)}\n`);
  } else if (isDone) {
    context.stdout.write(`given up ${name}\n`);
  } else {
    const [code, why] = GIVE_UP_REASONS[answer];
    context.stdout.write(`not given up ${name}: ${why} (${code})\n`);
  }
  return isDone ? 0 : 1;
}
