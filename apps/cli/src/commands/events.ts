import type { Command } from "commander";
import { EVENT_STATUSES, OUTCOMES } from "@millrace/core";
import type { CliContext } from "../context.ts";
import type { EventsOptions } from "../events/run-events.ts";
import { moment, choice, wholeNumber } from "../parse-option.ts";

/** What the column STATUS shows: a status, or how an event was completed where no handler did it. */
const STATUSES = [...EVENT_STATUSES, ...OUTCOMES.filter((outcome) => outcome !== "handled")];

interface Options extends Omit<EventsOptions, "status" | "json" | "follow" | "order"> {
  readonly status?: (typeof STATUSES)[number];
  readonly json?: true;
  readonly follow?: true;
  readonly oldestFirst?: true;
}

const HELP = `
Reads the ledger in DATABASE_URL, or of the running \`millrace start\`. Newest events first.

Examples:
  $ millrace events
  $ millrace events --status failed --since 1h
  $ millrace events --q evt_12 --json
  $ millrace events --follow --status failed
  $ millrace events hookmesh evt_123            shows one event with its payload and attempts
  $ millrace events hookmesh evt_123 --body > event.json`;

/** `millrace events`: lists events of the ledger as a table or as JSON lines. */
export function addEventsCommand(program: Command, context: CliContext): void {
  const command = program.command("events");
  command
    .description("list events, or show one event")
    .argument("[source]", "the events' source")
    .argument("[id]", "the id of one event, to show it in full")
    .option("--source <source>", "events from this source")
    .option("--type <type>", "events of this type")
    .addOption(choice("--status <status>", "events with this status", STATUSES))
    .addOption(choice("--outcome <outcome>", "events with this outcome", OUTCOMES))
    .option(
      "--error <fingerprint>",
      "events whose last error has this fingerprint, or one that begins with it",
    )
    .option("--q <text>", "events whose id is or begins with this")
    .option("--id <id>", "one event, to show it in full (with --source)")
    .option(
      "--since <time>",
      "recorded since this time (2026-11-21T10:00Z, or 15m, 1h, 7d ago)",
      moment,
    )
    .option("--until <time>", "recorded before this time", moment)
    .option("--limit <n>", "maximum number of rows", wholeNumber({ min: 1, max: 1_000_000 }), 50)
    .option("--oldest-first", "the oldest events instead of the newest")
    .option("--json", "print JSON lines instead of a table")
    .option(
      "--body [file]",
      "of one event: write the exact bytes of its body to a file, or to standard output",
    )
    .option("-f, --follow", "keep printing events that arrive, complete, or fail, until Ctrl-C")
    .addHelpText("after", HELP)
    .action(async (source: string | undefined, id: string | undefined, given: Options) => {
      const { oldestFirst, status, ...options } = given;
      const outcome = OUTCOMES.find((one) => one === status);
      if (outcome !== undefined && options.outcome !== undefined) {
        command.error(`error: give --status ${outcome} or --outcome ${options.outcome}`);
      }
      if (options.follow === true && options.until !== undefined && options.until <= new Date()) {
        command.error("error: --follow shows what comes, and --until is in the past");
      }
      if (oldestFirst === true && options.follow === true) {
        command.error("error: --follow shows what comes: remove --oldest-first");
      }
      if (options.body !== undefined && (id ?? options.id) === undefined) {
        command.error("error: --body needs one event: a source and an id");
      }
      const { runEvents } = await import("../events/run-events.ts");
      await runEvents(context, {
        ...options,
        ...(outcome === undefined
          ? { status: EVENT_STATUSES.find((one) => one === status) }
          : { outcome }),
        json: options.json === true,
        follow: options.follow === true,
        order: oldestFirst === true ? "asc" : undefined,
        source: source ?? options.source,
        id: id ?? options.id,
      });
    });
}
