import type { BulkVerb } from "@millrace/api-contract";
import { REASON_WORDS, VERB_WORDS } from "@millrace/api-contract/run-text";
import type { EventLookup } from "@millrace/core";
import { createOperator, giveUpEvent, type Actor } from "@millrace/operations";
import { awaitEnd, describeEnd, exitCodeOf } from "../await-end.ts";
import type { CliContext } from "../context.ts";
import { actorOf, withStores, type OpenStores } from "../stores.ts";
import { printable } from "../terminal-text.ts";

interface OneOptions {
  readonly lookup: EventLookup & { readonly bodyHash?: string | undefined };
  readonly json: boolean;
  readonly reason: string | undefined;
  /** Milliseconds to wait until the event is completed or failed; undefined not to wait. */
  readonly waitMs: number | undefined;
}

export async function runOne(
  context: CliContext,
  verb: BulkVerb,
  { lookup, json, reason, waitMs }: OneOptions,
): Promise<number> {
  const print = (text: string) => context.stdout.write(`${text}\n`);
  return await withStores(context, async (stores) => {
    const { skipped, generation } = await act(verb, stores, actorOf(context, reason), lookup);
    const counts = {
      [VERB_WORDS[verb].field]: skipped === undefined ? 1 : 0,
      skipped: skipped === undefined ? {} : { [skipped.code]: 1 },
      ...(generation === undefined ? {} : { generation }),
    };
    // An event that is given up has failed, and there is nothing to wait for.
    const waits = skipped === undefined && waitMs !== undefined && verb !== "give_up";
    if (!json) print(textOf(verb, lookup, { skipped, generation }));
    if (!waits) {
      if (json) print(JSON.stringify(counts));
      return skipped === undefined ? 0 : 1;
    }
    const run = generation === undefined ? lookup : { ...lookup, generation };
    const ended = await awaitEnd(stores.ledger, run, waitMs);
    print(json ? JSON.stringify({ ...counts, event: ended ?? null }) : describeEnd(ended, waitMs));
    return exitCodeOf(ended);
  });
}

interface OneResult {
  readonly skipped?: { readonly code: string; readonly why: string } | undefined;
  readonly generation?: number | undefined;
}

async function act(
  verb: BulkVerb,
  stores: OpenStores,
  actor: Actor,
  { bodyHash, ...lookup }: OneOptions["lookup"],
): Promise<OneResult> {
  if (verb === "give_up") {
    const answer = await giveUpEvent({ ...stores, actor }, lookup);
    if (answer === "given_up") return {};
    const reason = answer === "running" ? "event_running" : answer;
    const code = reason === "not_found" ? "event_not_found" : reason;
    return { skipped: { code, why: REASON_WORDS[reason] } };
  }
  const operator = createOperator(stores, actor);
  const result =
    verb === "retry"
      ? await operator.retryEvent(lookup)
      : await operator.replayEvent({ ...lookup, bodyHash });
  if (result.kind !== "skipped") return result.kind === "replayed" ? result : {};
  return { skipped: { code: result.reason, why: REASON_WORDS[result.reason] } };
}

function textOf(verb: BulkVerb, lookup: EventLookup, { skipped, generation }: OneResult): string {
  const { done } = VERB_WORDS[verb];
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  if (skipped !== undefined) return `not ${done} ${name}: ${skipped.why} (${skipped.code})`;
  return `${done} ${name}${generation === undefined ? "" : ` as generation ${generation}`}`;
}
