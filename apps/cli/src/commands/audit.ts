import type { AuditEntry } from "@millrace/api-contract";
import { readAuditSearch } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../parse-option.ts";
import { withLedger } from "../stores.ts";
import { nameOf, printable, writeList } from "../terminal-text.ts";

const HELP = `
Lists who did what, and why: retries, replays, pauses, sign-ins, and readings of a body. The newest
entries come first.

Examples:
  $ millrace audit
  $ millrace audit --action retry_many --user ops
  $ millrace audit --source stripe --event evt_123
  $ millrace audit --find 'by:ops since:7d carrier'
  $ millrace audit --limit 1000000 --json > audit.jsonl`;

interface Options {
  readonly source?: string;
  readonly event?: string;
  readonly action?: string;
  readonly user?: string;
  readonly find?: string;
  readonly limit: number;
  readonly json?: true;
}

const PAGE_MAX = 200;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("audit")
    .description("list who did what, and why")
    .option("--source <source>", "what was done to this source or its events")
    .option("--event <id>", "what was done to the event with this id")
    .option("--action <action>", "such as retry, replay_many, pause, sign_in, or read_body")
    .option("--user <name>", "what this user, or this token, did")
    .option("--find <search>", "a search, such as 'since:7d action:retry carrier'")
    .option("--limit <n>", "maximum number of entries", wholeNumber({ min: 1, max: 1e9 }), 50)
    .option("--json", "print JSON lines instead of a table")
    .addHelpText("after", HELP)
    .action((options: Options) => listAudit(context, options));
}

async function listAudit(context: CliContext, options: Options): Promise<void> {
  const { source, event: eventId, action, user: actor, find, json } = options;
  const filter = readAuditSearch({ source, eventId, action, actor, find });
  await withLedger(context, async ({ audit }) => {
    let left = options.limit;
    let cursor: string | undefined;
    do {
      const limit = Math.min(PAGE_MAX, left);
      const page = await audit.find({ ...filter, limit, cursor });
      const isFirst = left === options.limit;
      // A search for words can find nothing on a page, and go on.
      if (page.entries.length > 0 || page.next === null) {
        writeList(context, page.entries, {
          json,
          none: isFirst ? "No entry matches." : "",
          heads: isFirst ? ["WHEN", "BY", "VIA", "ACTION", "ON", "WHY"] : [],
          rowOf,
        });
      }
      left -= page.entries.length;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined && left > 0);
  });
}

function rowOf(entry: AuditEntry): string[] {
  const { at, actor, via, action, source, event_id: eventId, generation, filter, reason } = entry;
  const event = eventId === null ? "" : nameOf(eventId, generation ?? 0);
  const of = filter === null ? "" : printable(JSON.stringify(filter));
  const on = [source ?? "", event, of].filter((part) => part !== "").join(" ");
  return [at, printable(actor ?? ""), via, action, on, printable(reason ?? "")];
}
