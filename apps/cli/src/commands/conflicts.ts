import { openBody } from "@millrace/operations";
import { hasCode, MillraceError } from "@millrace/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../parse-option.ts";
import { withLedger, withStores } from "../stores.ts";
import { printable, writeList } from "../terminal-text.ts";

const HELP = `
A delivery that has the ID of an event and another body is answered as a duplicate, and does not run. Its
body is kept with those of events: 3 for an event, 1,000 for a source and day.

Examples:
  $ millrace conflicts                              lists them, the latest first
  $ millrace conflicts github 72d3162e              shows the bodies of one event
  $ millrace replay github 72d3162e --conflict <body hash>`;

interface Options {
  readonly limit: number;
  readonly json?: true;
}

export function addCommands(program: Command, context: CliContext): void {
  const command = program
    .command("conflicts")
    .description("list deliveries of a known ID with another body")
    .argument("[source]", "the source")
    .argument("[id]", "the ID of one event, to show its bodies")
    .option("--limit <n>", "maximum number of lines", wholeNumber({ min: 1, max: 10_000 }), 50)
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", HELP);
  command.action(async (source: string | undefined, id: string | undefined, options: Options) => {
    if (source !== undefined && id !== undefined) await showBodies(context, source, id);
    else await list(context, source, options);
  });
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

/** Characters of each body; `millrace events --body` writes all of one. */
const BODY_CHARS_MAX = 4_000;

async function showBodies(context: CliContext, source: string, eventId: string): Promise<void> {
  await withStores(context, async (stores) => {
    const lookup = { source, eventId, generation: 0 };
    const event = await stores.ledger.reads.findEvent(lookup, { bodyBytesMax: 0 });
    if (event === undefined) {
      throw new MillraceError("event_not_found", "Cannot find the event: no such source and ID");
    }
    const first = { body_hash: "", type: event.event.type, kept: true };
    for (const { body_hash, type, kept } of [first, ...event.conflicts]) {
      const which = body_hash === "" ? "first body" : `other body ${body_hash}`;
      context.stdout.write(`${which}, type ${printable(type ?? "unknown")}\n`);
      const range = { length: BODY_CHARS_MAX, bodyHash: body_hash || undefined };
      const text = kept ? await textOf(() => openBody(stores, lookup, range)) : "not kept";
      context.stdout.write(`${text}\n\n`);
    }
  });
}

async function textOf(open: () => ReturnType<typeof openBody>): Promise<string> {
  try {
    const parts: Uint8Array[] = [];
    for await (const part of (await open())?.parts ?? []) parts.push(part);
    return printable(Buffer.concat(parts).toString("utf8"));
  } catch (error) {
    if (hasCode(error, "body_missing")) return "no longer kept";
    throw error;
  }
}
