import { type EventStatus, type Outcome, OUTCOMES } from "@millrace/core";
import type { CliContext } from "../context.ts";
import { choice, moment, positiveNumber, reasonText, wholeNumber } from "../parse-option.ts";
import type { Verb } from "../run-again.ts";
import type { Command } from "commander";

const RETRY_HELP = `
Each event gets its full number of attempts again. Uses DATABASE_URL and REDIS_URL, or the running
\`millrace start\`. Ctrl-C stops after the current batch. Exits with 1 if it did not finish, or if the
named event was not retried.

Examples:
  $ millrace retry hookmesh evt_123
  $ millrace retry --source stripe --since 1h --dry-run
  $ millrace retry --type invoice.paid --rate 50
  $ millrace retry --all`;

/** `millrace retry`: runs failed events again. */
export function addRetryCommand(program: Command, context: CliContext): void {
  const command = program.command("retry").description("run failed events again");
  addRunAgainOptions(command)
    .addOption(choice("--status <status>", "implied", ["failed"]))
    .addHelpText("after", RETRY_HELP)
    .action(() => runAgain(command, context, "retry"));
}

const SETTLED = ["completed", "failed"] as const;

const REPLAY_HELP = `
A replay runs the handlers on the same body again, as a new generation of the event, even if they
already completed: whatever they write, they write again. The record of the earlier run stays
unchanged. Ctrl-C stops after the current batch. Exits with 1 if it did not finish, or if the named
event was not replayed.

Examples:
  $ millrace replay hookmesh evt_123
  $ millrace replay --source github --outcome suspected_replay --dry-run
  $ millrace replay --type order.paid --since 2d --until 1d --rate 20`;

/** `millrace replay`: runs completed or failed events again, as a new generation. */
export function addReplayCommand(program: Command, context: CliContext): void {
  const command = program
    .command("replay")
    .description("run completed or failed events again, as a new generation");
  addRunAgainOptions(command)
    .addOption(choice("--status <status>", "events with this status", SETTLED))
    .addOption(choice("--outcome <outcome>", "events with this outcome", OUTCOMES))
    .addHelpText("after", REPLAY_HELP)
    .action(() => runAgain(command, context, "replay"));
}

/** Options of `millrace retry` and `millrace replay`. */
interface RunAgainOptions {
  readonly source?: string;
  readonly type?: string;
  readonly status?: EventStatus;
  readonly outcome?: Outcome;
  readonly q?: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly generation?: number;
  readonly limit?: number;
  readonly rate?: number;
  readonly all?: true;
  readonly dryRun?: true;
  readonly json?: true;
  readonly reason?: string;
}

/** Adds the arguments and options of both commands: one event by name, or a filter for many. */
function addRunAgainOptions(command: Command): Command {
  return command
    .argument("[source]", "the source of one event")
    .argument("[id]", "the id of one event")
    .option("--source <source>", "events from this source")
    .option("--type <type>", "events of this type")
    .option("--q <text>", "events whose id is or begins with this")
    .option(
      "--since <time>",
      "recorded since this time (2026-11-21T10:00Z, or 15m, 1h, 7d ago)",
      moment,
    )
    .option("--until <time>", "recorded before this time", moment)
    .option("--all", "all events, when no filter is given")
    .option("--limit <n>", "only the newest n", wholeNumber({ min: 1, max: 1_000_000_000 }))
    .option("--rate <n>", "at most this many events per second", positiveNumber)
    .option("--dry-run", "count the events without changing anything")
    .option("--generation <n>", "for one event: this generation (default: the latest)", generation)
    .option("--reason <text>", "reason, recorded in the audit log", reasonText)
    .option("--json", "print the result as JSON");
}

const generation = wholeNumber({ min: 0, max: 999_999_999 });

/** Runs one named event again, or all events that match the filter. */
async function runAgain(command: Command, context: CliContext, verb: Verb): Promise<void> {
  const [source, eventId] = command.args;
  const {
    json,
    dryRun,
    rate,
    limit,
    all,
    generation: named,
    reason,
    ...filter
  } = command.opts<RunAgainOptions>();
  if (source === undefined) {
    if (named !== undefined)
      command.error("error: --generation needs one event: a source and an id");
    if (Object.keys(filter).length === 0 && all !== true) {
      command.error(`error: nothing to ${verb}: give a source and an id, a filter, or --all`);
    }
    const { runMany } = await import("../run-again.ts");
    const many = { filter, all, limit, dryRun, ratePerSecond: rate, json: json === true, reason };
    context.setExitCode(await runMany(context, verb, many));
    return;
  }
  if (eventId === undefined) {
    command.error(`error: missing required argument 'id' (for many events: --source ${source})`);
  }
  const forMany = { ...filter, dryRun, rate, limit, all };
  if (Object.values(forMany).some((value) => value !== undefined)) {
    command.error("error: one event takes no filter: remove its id, or the options");
  }
  const { runOne } = await import("../run-again.ts");
  const lookup = { source, eventId, generation: named };
  context.setExitCode(await runOne(context, verb, { lookup, json: json === true, reason }));
}
