import { COUNT_MAX, RATE_DEFAULT, UNCONFIRMED_MAX, type BulkVerb } from "@millrace/api-contract";
import { timeText, VERB_WORDS, REASON_WORDS } from "@millrace/api-contract/run-text";
import {
  createOperator,
  readFilter,
  requireBulk,
  type BulkCount,
  type BulkRunOptions,
  type Operator,
  type Actor,
} from "@millrace/operations";
import type { EventLookup } from "@millrace/core";
import type { CliContext } from "../context.ts";
import { withOperator, actorOf, withStores, type OpenStores } from "../stores.ts";
import { number, skippedText, watchRun } from "./watch-run.ts";
import { awaitEnd, describeEnd, exitCodeOf } from "../await-end.ts";
import { printable } from "../terminal-text.ts";

export interface ManyOptions extends BulkRunOptions {
  readonly dryRun?: boolean | undefined;
  readonly wait: boolean;
  readonly json: boolean;
  readonly reason: string | undefined;
}

export async function runMany(
  context: CliContext,
  verb: BulkVerb,
  { json, reason, wait, dryRun, ...asked }: ManyOptions,
): Promise<number> {
  return await withOperator(context, reason, async (operator, ledger) => {
    const options = { ...asked, filter: requireBulk(await readFilter(ledger, asked.filter)) };
    const counted = await operator.countRun(verb, options);
    if (dryRun === true) {
      context.stdout.write(`${json ? countJson(verb, counted) : countText(verb, counted)}\n`);
      return 0;
    }
    if (counted.count === 0 && options.all !== true) {
      context.stdout.write(json ? `${JSON.stringify({ run: null })}\n` : "No event matches.\n");
      return 0;
    }
    const run = await start(context, operator, { verb, options, counted });
    const far = run.total === null ? `more than ${number(COUNT_MAX)}` : number(run.total);
    if (!json) {
      const events = run.total === 1 ? "1 event" : `${far} events`;
      const time = timeText(run.total ?? COUNT_MAX, run.rate, run.total === null);
      context.stdout.write(
        `run ${run.id}: ${VERB_WORDS[verb].verb} ${events}, ${number(run.rate)} per second, in ${time}\n`,
      );
    }
    if (wait) return await watchRun(context, ledger, run, json);
    if (json) context.stdout.write(`${JSON.stringify(run)}\n`);
    return 0;
  });
}

interface Started {
  readonly verb: BulkVerb;
  readonly options: BulkRunOptions;
  readonly counted: BulkCount;
}

/** On a terminal, you confirm a large run by typing its number of events. */
async function start(
  { ask }: CliContext,
  operator: Operator,
  { verb, options, counted: { count, more } }: Started,
) {
  const isAll = Object.values(options.filter).every((value) => value === undefined);
  const isNeeded = isAll || count > UNCONFIRMED_MAX;
  if (!isNeeded || options.expected !== undefined || ask === undefined) {
    return await operator.startRun(verb, options);
  }
  const far = more ? `more than ${number(count)}` : number(count);
  const rate = options.ratePerSecond ?? RATE_DEFAULT;
  const time = timeText(count, rate, more);
  const answer = await ask(
    `This will ${VERB_WORDS[verb].verb} ${far} events, ${number(rate)} per second, in ${time}. Type ${count} to continue: `,
  );
  const typed = answer.replaceAll(/[\s,]/g, "");
  const expected = /^\d+$/.test(typed) ? Number(typed) : -1;
  return await operator.startRun(verb, { ...options, expected });
}

function countJson(verb: BulkVerb, counted: BulkCount): string {
  return JSON.stringify({
    [VERB_WORDS[verb].field]: wouldRun(counted),
    skipped: counted.skipped,
    dryRun: true,
    ...(counted.more ? { more_than: counted.count } : {}),
  });
}

function countText(verb: BulkVerb, counted: BulkCount): string {
  const { count, more, skipped } = counted;
  const lines = [
    `would be ${VERB_WORDS[verb].done}: ${more ? "more than " : ""}${wouldRun(counted)}`,
    ...Object.entries(skipped).map(([reason, of]) => skippedText(reason, String(of))),
  ];
  if (count === 0) lines.push("No event matches.");
  return lines.join("\n");
}

const wouldRun = ({ count, skipped }: BulkCount): number =>
  count - Object.values(skipped).reduce((sum, of) => sum + of, 0);

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
  const operator = createOperator(stores, actor);
  const acts = {
    retry: () => operator.retryEvent(lookup),
    replay: () => operator.replayEvent({ ...lookup, bodyHash }),
    give_up: () => operator.giveUpEvent(lookup),
  };
  const result = await acts[verb]();
  if (result.kind !== "skipped") return result.kind === "replayed" ? result : {};
  return { skipped: { code: result.reason, why: REASON_WORDS[result.reason] } };
}

function textOf(verb: BulkVerb, lookup: EventLookup, { skipped, generation }: OneResult): string {
  const { done } = VERB_WORDS[verb];
  const name = `${lookup.source} ${printable(lookup.eventId)}`;
  if (skipped !== undefined) return `not ${done} ${name}: ${skipped.why} (${skipped.code})`;
  return `${done} ${name}${generation === undefined ? "" : ` as generation ${generation}`}`;
}
