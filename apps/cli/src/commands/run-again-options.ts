import type { EventStatus, Outcome } from "@millrace/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { moment, positiveNumber, reasonText, wholeNumber } from "../parse-option.ts";
import type { Verb } from "../run-again/verb.ts";

/** What `millrace retry` and `millrace replay` are told. */
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

/** Adds what both commands take: one event by its name, or a filter for many. */
export function addRunAgainOptions(command: Command): Command {
  return command
    .argument("[source]", "the source of one event")
    .argument("[id]", "the id of one event")
    .option("--source <source>", "events of this source")
    .option("--type <type>", "of this type")
    .option("--q <text>", "whose id is this, or begins with it")
    .option("--since <time>", "recorded since (2026-11-21T10:00Z, or 15m, 1h, 7d ago)", moment)
    .option("--until <time>", "recorded before", moment)
    .option("--all", "every event there is, where no filter is given")
    .option("--limit <n>", "no more than the newest n", wholeNumber({ min: 1, max: 1_000_000_000 }))
    .option("--rate <n>", "events a second, at most", positiveNumber)
    .option("--dry-run", "count what would be done, and change nothing")
    .option("--generation <n>", "of one event: this generation (default: the latest)", generation)
    .option("--reason <text>", "why, for the audit", reasonText)
    .option("--json", "the outcome as JSON");
}

const generation = wholeNumber({ min: 0, max: 999_999_999 });

/** Runs the one event that is named, or those of the filter. */
export async function runAgain(command: Command, context: CliContext, verb: Verb): Promise<void> {
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
    const { runMany } = await import("../run-again/run-many.ts");
    const many = { filter, all, limit, dryRun, ratePerSecond: rate, json: json === true, reason };
    context.setExitCode(await runMany(context, verb, many));
    return;
  }
  if (eventId === undefined) {
    command.error(`error: missing required argument 'id' (for many events: --source ${source})`);
  }
  const forMany = { ...filter, dryRun, rate, limit, all };
  if (Object.values(forMany).some((value) => value !== undefined)) {
    command.error("error: one event takes no filter: leave out its id, or the options");
  }
  const { runOne } = await import("../run-again/run-one.ts");
  const lookup = { source, eventId, generation: named };
  context.setExitCode(await runOne(context, verb, { lookup, json: json === true, reason }));
}
