import type { Command } from "commander";
import { EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import type { CliContext } from "../context.ts";
import type { EventsOptions } from "../events/run-events.ts";
import { moment, choice, wholeNumber } from "../parse-option.ts";

type Options = Omit<EventsOptions, "json" | "follow"> & { json?: true; follow?: true };

const HELP = `
Reads the ledger in DATABASE_URL, or of the running \`millrace start\`. Newest events first.

Examples:
  $ millrace events
  $ millrace events --status failed --since 1h
  $ millrace events --q evt_12 --json
  $ millrace events --follow --status failed
  $ millrace events hookmesh evt_123            shows one event with its payload and failed attempts`;

/** `millrace events`: lists events of the ledger as a table or as JSON lines. */
export function addEventsCommand(program: Command, context: CliContext): void {
  program
    .command("events")
    .description("list events, or show one event")
    .argument("[source]", "the events' source")
    .argument("[id]", "the id of one event, to show it in full")
    .option("--source <source>", "events from this source")
    .option("--type <type>", "events of this type")
    .addOption(choice("--status <status>", "events with this status", EVENT_STATUSES))
    .addOption(choice("--outcome <outcome>", "events with this outcome", OUTCOMES))
    .option("--q <text>", "events whose id is or begins with this")
    .option("--id <id>", "one event, to show it in full (with --source)")
    .option(
      "--since <time>",
      "recorded since this time (2026-11-21T10:00Z, or 15m, 1h, 7d ago)",
      moment,
    )
    .option("--until <time>", "recorded before this time", moment)
    .option("--limit <n>", "maximum number of rows", wholeNumber({ min: 1, max: 1_000_000 }), 50)
    .option("--json", "print JSON lines instead of a table")
    .option("-f, --follow", "keep printing events that arrive, complete, or fail, until Ctrl-C")
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
