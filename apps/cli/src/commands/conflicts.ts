import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../parse-option.ts";
import { withLedger } from "../stores.ts";
import { printable, writeList } from "../terminal-text.ts";

const HELP = `
A delivery that has the ID of an event and another body is answered as a duplicate, and does not run. Its
body is kept with those of events: 3 for an event, 1,000 for a source and day.

Examples:
  $ millrace conflicts                              lists them, the latest first
  $ millrace conflicts github                       those of one source
  $ millrace replay github 72d3162e --conflict <body hash>`;

interface Options {
  readonly limit: number;
  readonly json?: true;
}

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("conflicts")
    .description("list deliveries of a known ID with another body")
    .argument("[source]", "the source")
    .option("--limit <n>", "maximum number of lines", wholeNumber({ min: 1, max: 10_000 }), 50)
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", HELP)
    .action((source: string | undefined, options: Options) => list(context, source, options));
}

async function list(
  context: CliContext,
  source: string | undefined,
  { limit, json }: Options,
): Promise<void> {
  await withLedger(context, async ({ reads }) =>
    writeList(context, await reads.findConflicts(source, limit), {
      json,
      none: "No conflicts.",
      heads: ["SOURCE", "ID", "TYPE", "BODY HASH", "BODY", "LAST SEEN"],
      rowOf: ({ source: of, event_id, type, body_hash, kept, last_seen_at }) => [
        ...[of, printable(event_id), printable(type ?? ""), body_hash],
        ...[kept ? "kept" : "hash only", last_seen_at],
      ],
    }),
  );
}
