import { COUNT_MAX, RATE_DEFAULT, UNCONFIRMED_MAX, type BulkVerb } from "@millrace/api-contract";
import { REASON_WORDS, timeText, VERB_WORDS } from "@millrace/api-contract/run-text";
import type { EventLookup } from "@millrace/core";
import type { BulkFilter } from "@millrace/ledger";
import { readFilter, requireBulk, type BulkCount, type BulkRunOptions } from "@millrace/operations";
import type { Command } from "commander";
import { awaitEnd, describeEnd, exitCodeOf } from "../await-end.ts";
import type { CliContext } from "../context.ts";
import {
  choice,
  duration,
  EVENT_FILTER,
  outcomeOption,
  positiveNumber,
  reasonText,
  share,
  WAIT_MS,
  wholeNumber,
} from "../parse-option.ts";
import { number, skippedText, watchRun } from "../runs/watch-run.ts";
import { withOperator } from "../stores.ts";
import { createPrinter, printable } from "../terminal-text.ts";

const BULK_HELP = `
Uses DATABASE_URL and REDIS_URL, or the running \`millrace start\`. With a filter it starts a bulk run,
which a worker works off at 50 events per second; Ctrl-C stops watching, and the run continues (see
\`millrace runs\`). More than 1,000 events need --expect. Exits with 1 if the run did not finish, or if
the named event was left as it was, or with --wait not completed.

Examples:`;

const RETRY_HELP = `
A failed event gets its full number of attempts again. With --status pending, events that wait for
their next attempt run it now, and their attempts stay counted; so does a pending event that is named.
${BULK_HELP}
  $ millrace retry hookmesh evt_123 --wait
  $ millrace retry --source stripe --since 1h --dry-run
  $ millrace retry --type invoice.paid --canary 5
  $ millrace retry --status pending --error 1-31a4a32c9fb3de8e
  $ millrace retry --since 1d --rate 200 --max-failed 20%
  $ millrace retry --all --expect 1200`;

const REPLAY_HELP = `
A replay runs the handlers on the same body again, as a new generation of the event, even if they
already completed: whatever they write, they write again. The record of the earlier run stays
unchanged.
${BULK_HELP}
  $ millrace replay hookmesh evt_123
  $ millrace replay --source github --outcome ignored --dry-run
  $ millrace replay --type order.paid --since 2d --until 1d --rate 20`;

const GIVE_UP_HELP = `
Each event fails with \`given_up\`, and its job is removed. Neither its sender's redelivery nor an old job
runs it again: only \`millrace retry\` does. An event whose handler is running is left alone.
${BULK_HELP.replace(", or with --wait not completed", "")}
  $ millrace give-up hookmesh evt_123 --reason "the customer is gone"
  $ millrace give-up --source stripe --type invoice.paid --dry-run
  $ millrace give-up --error 1-31a4a32c9fb3de8e --rate 200`;

const VERBS = [
  {
    verb: "retry",
    description: "run failed events again, or pending ones now",
    statuses: ["failed", "pending"],
    help: RETRY_HELP,
  },
  {
    verb: "replay",
    description: "run completed or failed events again, as a new generation",
    statuses: ["completed", "failed"],
    help: REPLAY_HELP,
  },
  {
    verb: "give_up",
    description: "stop trying pending events",
    statuses: ["pending"],
    help: GIVE_UP_HELP,
  },
] as const;

export function addCommands(program: Command, context: CliContext): void {
  for (const { verb, description, statuses, help } of VERBS) {
    const command = program.command(verb.replace("_", "-")).description(description);
    const ofStatus = verb === "give_up" ? "implied" : "events with this status";
    addVerbOptions(command, { waits: verb !== "give_up" });
    command.addOption(choice("--status <status>", ofStatus, statuses));
    if (verb === "replay") {
      command.addOption(outcomeOption);
      command.option("--conflict <hash>", "for one event: run this other body of `conflicts`");
    }
    command.addHelpText("after", help).action(async () => {
      context.setExitCode(await runVerb(command, context, verb));
    });
  }
}

interface Options extends BulkFilter, Pick<BulkRunOptions, "all" | "limit" | "canary"> {
  readonly expect?: number;
  readonly rate?: number;
  readonly dryRun?: true;
  readonly maxFailed?: number;
  readonly generation?: number;
  readonly conflict?: string;
  readonly wait?: boolean | undefined;
  readonly timeout?: number;
  readonly reason?: string | undefined;
  readonly json?: true | undefined;
}

function addVerbOptions(command: Command, { waits }: { waits: boolean }): void {
  command.argument("[source]", "the source of one event").argument("[id]", "the id of one event");
  for (const option of Object.values(EVENT_FILTER)) command.addOption(option);
  command
    .option("--all", "all events, when no filter is given")
    .option(
      "--expect <n>",
      "how many events match, within a tenth; needed for --all and above 1,000",
      countUpTo(1e9),
    )
    .option("--limit <n>", "only the newest n", wholeNumber({ min: 1, max: 1_000_000_000 }))
    .option("--rate <n>", "at most this many events per second (default: 50)", positiveNumber)
    .option("--dry-run", "count the events without changing anything")
    .option(
      "--generation <n>",
      "for one event: this generation (default: the latest)",
      countUpTo(999_999_999),
    );
  // Commander takes a `--no-wait` that stands alone, or first, for a `--wait` that is on.
  if (waits) {
    command
      .option(
        "--canary <n>",
        "run n events of different types first, and the others once all of them completed",
        wholeNumber({ min: 1, max: 1_000 }),
      )
      .option("--max-failed <share>", "stop the run when more than this share fails again", share)
      .option("--wait", "for one event: wait until it is completed or failed, and print which")
      .option("--timeout <time>", "how long --wait waits (default: 60s)", duration);
  }
  command
    .option("--no-wait", "for many events: start the bulk run without watching it")
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print the result as JSON");
}

const countUpTo = (max: number) => wholeNumber({ min: 0, max });

async function runVerb(command: Command, context: CliContext, verb: BulkVerb): Promise<number> {
  const [source, eventId] = command.args;
  const options = command.opts<Options>();
  const { json, reason, wait, timeout, generation, conflict, ...many } = options;
  if (timeout !== undefined && wait !== true) command.error("error: --timeout needs --wait");
  if (source === undefined) {
    if (generation !== undefined)
      command.error("error: --generation needs one event: a source and an id");
    if (conflict !== undefined)
      command.error("error: --conflict needs one event: a source and an id");
    return await runMany(command, context, verb, { ...many, json, reason, wait });
  }
  if (eventId === undefined) {
    command.error(
      `error: one event needs its source and its id: millrace ${command.name()} <source> <id> (for many events: --source)`,
    );
  }
  if (wait === false) command.error("error: --no-wait is for many events: one runs at once");
  if (Object.keys(many).length > 0) {
    command.error("error: one event takes no filter: remove its id, or the options");
  }
  return await runOne(context, verb, { source, eventId, generation }, options);
}

async function runMany(
  command: Command,
  context: CliContext,
  verb: BulkVerb,
  asked: Options,
): Promise<number> {
  const { json, reason, wait = true, dryRun, ...selected } = asked;
  const { all, limit, rate, expect: expected, canary, maxFailed, ...found } = selected;
  if (Object.keys(found).length === 0 && all !== true) {
    command.error(
      `error: nothing to ${VERB_WORDS[verb].verb}: give a source and an id, a filter, or --all`,
    );
  }
  const print = createPrinter(context, json);
  return await withOperator(context, reason, async (operator, ledger) => {
    const filter = requireBulk(await readFilter(ledger, found));
    const pace = { ratePerSecond: rate, canary, failedShareMax: maxFailed };
    const options = { filter, all, limit, expected, ...pace };
    const counted = await operator.countRun(verb, options);
    if (dryRun === true) {
      print(countResult(verb, counted));
      return 0;
    }
    if (counted.count === 0 && all !== true) {
      const ofPending = verb === "retry" && filter.status === undefined ? OF_PENDING : "";
      print({ json: { run: null }, text: `No event matches.${ofPending}` });
      return 0;
    }
    const confirmed = await confirm(context, verb, options, counted);
    const run = await operator.startRun(verb, { ...options, expected: confirmed });
    const far = run.total === null ? `more than ${number(COUNT_MAX)}` : number(run.total);
    const events = run.total === 1 ? "1 event" : `${far} events`;
    const time = timeText(run.total ?? COUNT_MAX, run.rate, run.total === null);
    const what = `${VERB_WORDS[verb].verb} ${events}, ${number(run.rate)} per second, in ${time}`;
    print({ json: wait ? undefined : run, text: `run ${run.id}: ${what}` });
    return wait ? await watchRun(context, ledger, run, json) : 0;
  });
}

const OF_PENDING = " To run pending ones now that wait for their next attempt: --status pending";

/** On a terminal, you confirm a large run by typing its number of events, which it returns. */
async function confirm(
  { ask }: CliContext,
  verb: BulkVerb,
  { filter, expected, ratePerSecond: rate = RATE_DEFAULT }: BulkRunOptions,
  { count, more }: BulkCount,
): Promise<number | undefined> {
  const isAll = Object.values(filter).every((value) => value === undefined);
  if (!isAll && count <= UNCONFIRMED_MAX) return expected;
  if (expected !== undefined || ask === undefined) return expected;
  const far = more ? `more than ${number(count)}` : number(count);
  const time = timeText(count, rate, more);
  const answer = await ask(
    `This will ${VERB_WORDS[verb].verb} ${far} events, ${number(rate)} per second, in ${time}. Type ${count} to continue: `,
  );
  return answer.replaceAll(/[\s,]/g, "") === String(count) ? count : 0;
}

function countResult(verb: BulkVerb, { count, more, skipped }: BulkCount) {
  const { done, field } = VERB_WORDS[verb];
  const wouldRun = count - Object.values(skipped).reduce((sum, of) => sum + of, 0);
  const lines = [
    `would be ${done}: ${more ? "more than " : ""}${wouldRun}`,
    ...Object.entries(skipped).map(([reason, of]) => skippedText(reason, String(of))),
  ];
  if (count === 0) lines.push("No event matches.");
  const json = { [field]: wouldRun, skipped, dryRun: true, more_than: more ? count : undefined };
  return { json, text: lines.join("\n") };
}

async function runOne(
  context: CliContext,
  verb: BulkVerb,
  lookup: EventLookup,
  { json, reason, wait, timeout: waitMs = WAIT_MS, conflict: bodyHash }: Options,
): Promise<number> {
  const print = createPrinter(context, json);
  return await withOperator(context, reason, async (operator, ledger) => {
    const acts = {
      retry: () => operator.retryEvent(lookup),
      replay: () => operator.replayEvent({ ...lookup, bodyHash }),
      give_up: () => operator.giveUpEvent(lookup),
    };
    const result = await acts[verb]();
    const skipped = result.kind === "skipped" ? result.reason : undefined;
    const generation = result.kind === "replayed" ? result.generation : undefined;
    const { done, field } = VERB_WORDS[verb];
    const counts =
      skipped === undefined
        ? { [field]: 1, skipped: {}, generation }
        : { [field]: 0, skipped: { [skipped]: 1 } };
    const name = `${done} ${lookup.source} ${printable(lookup.eventId)}`;
    const as = generation === undefined ? "" : ` as generation ${generation}`;
    const text = skipped ? `not ${name}: ${REASON_WORDS[skipped]} (${skipped})` : `${name}${as}`;
    // An event that is given up has failed, and there is nothing to wait for.
    const waits = skipped === undefined && wait === true && verb !== "give_up";
    print({ json: waits ? undefined : counts, text });
    if (!waits) return skipped === undefined ? 0 : 1;
    const run = generation === undefined ? lookup : { ...lookup, generation };
    const ended = await awaitEnd(ledger, run, waitMs);
    print({ json: { ...counts, event: ended ?? null }, text: describeEnd(ended, waitMs) });
    return exitCodeOf(ended);
  });
}
