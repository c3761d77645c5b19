import type { Command } from "commander";
import { EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import type { CliContext } from "../context.ts";
import type { EventsOptions } from "../events/run-events.ts";
import { moment, choice, wholeNumber } from "../parse-option.ts";

type Options = Omit<EventsOptions, "json" | "follow"> & { json?: true; follow?: true };

const HELP = `
Reads the ledger of DATABASE_URL, else of the start that runs here; newest first.

Examples:
  $ millrace events
  $ millrace events --status failed --since 1h
  $ millrace events --q evt_12 --json
  $ millrace events --follow --status failed
  $ millrace events hookmesh evt_123            one event with its payload and failed attempts`;

/** `millrace events`: what the ledger knows, as a table or as JSON lines. */
export function addEventsCommand(program: Command, context: CliContext): void {
  program
    .command("events")
    .description("list events, or show one")
    .argument("[source]", "the source of the events")
    .argument("[id]", "the id of one event, to show all of it")
    .option("--source <source>", "of this source")
    .option("--type <type>", "of this type")
    .addOption(choice("--status <status>", "of this status", EVENT_STATUSES))
    .addOption(choice("--outcome <outcome>", "of this outcome", OUTCOMES))
    .option("--q <text>", "whose id is this, or begins with it")
    .option("--id <id>", "one event, to show all of it (with --source)")
    .option("--since <time>", "recorded since (2026-11-21T10:00Z, or 15m, 1h, 7d ago)", moment)
    .option("--until <time>", "recorded before", moment)
    .option("--limit <n>", "rows", wholeNumber({ min: 1, max: 1_000_000 }), 50)
    .option("--json", "JSON lines instead of a table")
    .option("-f, --follow", "go on with what comes, completes or fails, until Ctrl-C")
    .addHelpText("after", HELP)
    .action(async (source: string | undefined, id: string | undefined, options: Options) => {
      const { runEvents } = await import("../events/run-events.ts");
      await runEvents(context, {
        ...options,
        json: options.json === true,
        follow: options.follow === true,
        source: source ?? options.source,
        id: id ?? options.id,
      });
    });
}
