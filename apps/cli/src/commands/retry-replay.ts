import type { BulkVerb } from "@millrace/api-contract";
import type { EventStatus } from "@millrace/core";
import type { CliContext } from "../context.ts";
import {
  choice,
  duration,
  EVENT_FILTER,
  type EventFilterOptions,
  outcomeOption,
  positiveNumber,
  reasonText,
  share,
  WAIT_MS,
  wholeNumber,
} from "../parse-option.ts";
import type { Command } from "commander";
import { runMany, runOne } from "../runs/run-verbs.ts";

const BULK_HELP = `
Uses DATABASE_URL and REDIS_URL, or the running \`millrace start\`. With a filter it starts a bulk run,
which a worker works off at 50 events per second; Ctrl-C stops watching, and the run continues (see
\`millrace runs\`). More than 1,000 events need --expect. Exits with 1 if the run did not finish, or if
the named event was left as it was, or with --wait not completed.

Examples:`;

const RETRY_HELP = `
Each event gets its full number of attempts again.
${BULK_HELP}
  $ millrace retry hookmesh evt_123 --wait
  $ millrace retry --source stripe --since 1h --dry-run
  $ millrace retry --type invoice.paid --canary 5
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
  { verb: "retry", description: "run failed events again", statuses: ["failed"], help: RETRY_HELP },
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
    const ofStatus = verb === "replay" ? "events with this status" : "implied";
    addVerbOptions(command, { waits: verb !== "give_up" });
    command.addOption(choice("--status <status>", ofStatus, statuses));
    if (verb === "replay") {
      command.addOption(outcomeOption);
      command.option("--conflict <hash>", "for one event: run this other body of `conflicts`");
    }
    command.addHelpText("after", help).action(() => runVerb(command, context, verb));
  }
}

interface VerbOptions extends EventFilterOptions {
  readonly status?: EventStatus;
  readonly generation?: number;
  readonly limit?: number;
  readonly rate?: number;
  readonly all?: true;
  readonly expect?: number;
  readonly canary?: number;
  readonly maxFailed?: number;
  readonly dryRun?: true;
  readonly json?: true;
  readonly reason?: string;
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly conflict?: string;
}

function addVerbOptions(command: Command, { waits }: { waits: boolean }): void {
  command.argument("[source]", "the source of one event").argument("[id]", "the id of one event");
  for (const option of Object.values(EVENT_FILTER)) command.addOption(option);
  command
    .option("--all", "all events, when no filter is given")
    .option("--expect <n>", "how many events match; needed for --all and above 1,000", eventCount)
    .option("--limit <n>", "only the newest n", wholeNumber({ min: 1, max: 1_000_000_000 }))
    .option("--rate <n>", "at most this many events per second (default: 50)", positiveNumber)
    .option("--dry-run", "count the events without changing anything")
    .option("--generation <n>", "for one event: this generation (default: the latest)", generation);
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

const generation = wholeNumber({ min: 0, max: 999_999_999 });
const eventCount = wholeNumber({ min: 0, max: 1_000_000_000 });

async function runVerb(command: Command, context: CliContext, verb: BulkVerb): Promise<void> {
  const [source, eventId] = command.args;
  const {
    json,
    dryRun,
    rate,
    limit,
    all,
    expect: expected,
    canary,
    maxFailed: failedShareMax,
    generation: named,
    reason,
    wait,
    timeout,
    conflict: bodyHash,
    ...filter
  } = command.opts<VerbOptions>();
  if (timeout !== undefined && wait !== true) command.error("error: --timeout needs --wait");
  if (source === undefined) {
    if (named !== undefined)
      command.error("error: --generation needs one event: a source and an id");
    if (bodyHash !== undefined)
      command.error("error: --conflict needs one event: a source and an id");
    if (Object.keys(filter).length === 0 && all !== true) {
      command.error(
        `error: nothing to ${verb.replace("_", " ")}: give a source and an id, a filter, or --all`,
      );
    }
    const how = { all, expected, limit, dryRun, canary, failedShareMax, ratePerSecond: rate };
    const many = { filter, ...how, wait: wait !== false, json: json === true, reason };
    context.setExitCode(await runMany(context, verb, many));
    return;
  }
  if (eventId === undefined) {
    command.error(
      `error: one event needs its source and its id: millrace ${command.name()} <source> <id> (for many events: --source)`,
    );
  }
  const forMany = { ...filter, dryRun, rate, limit, all, expected, canary, failedShareMax };
  if (wait === false) command.error("error: --no-wait is for many events: one runs at once");
  if (Object.values(forMany).some((value) => value !== undefined)) {
    command.error("error: one event takes no filter: remove its id, or the options");
  }
  const lookup = { source, eventId, generation: named, bodyHash };
  const one = { lookup, json: json === true, reason };
  const waitMs = wait === true ? (timeout ?? WAIT_MS) : undefined;
  context.setExitCode(await runOne(context, verb, { ...one, waitMs }));
}
