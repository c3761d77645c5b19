import { openLedger, sessionNeeded } from "@millrace/connect";
import { createRetentionLedger } from "@millrace/ledger";
import { runRetention, type RetentionNotice, type RetentionResult } from "@millrace/operations";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { onStopRequest } from "../stop-request.ts";
import { findProject, withOpen } from "../stores.ts";
import { createPrinter } from "../terminal-text.ts";

const RETENTION_HELP = `
Workers do this automatically, every hour. The config's \`retention\` settings say how long data is
kept, by the database's clock. Pending and failed events are never dropped or deleted. Ctrl-C stops
after the current step, and the next run continues from there. Exits with 1 if it did not finish, or
if a worker is running retention.

Examples:
  $ millrace retention
  $ millrace retention --json`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("drop old bodies and delete old events now")
    .option("--json", "print the result as JSON")
    .addHelpText("after", RETENTION_HELP)
    .action(async ({ json }: { readonly json?: true }) => {
      context.setExitCode(await runRetentionCommand(context, json));
    });
}

type Ending = RetentionResult | { readonly kind: "cancelled" };

type Counts = typeof NOTHING;
const NOTHING = { moved: 0, partitions_dropped: 0, bytes: 0, keys_deleted: 0 };

/** @throws `database_unavailable`, `migration_needed`, `session_needed` */
async function runRetentionCommand(context: CliContext, json: true | undefined): Promise<number> {
  const { config, stores } = await findProject(context);
  const { DATABASE_URL, DATABASE_SESSION_URL } = stores;
  const opened = await openLedger(DATABASE_SESSION_URL ?? DATABASE_URL);
  return await withOpen(opened, async ({ pool, pooler }) => {
    if (pooler === "transaction") {
      const isApart = DATABASE_SESSION_URL !== undefined;
      throw sessionNeeded("the retention", isApart ? "DATABASE_SESSION_URL" : "DATABASE_URL");
    }
    const counts = { ...NOTHING };
    const notify = (notice: RetentionNotice) => {
      if (notice.kind === "dropped") {
        counts.partitions_dropped += 1;
        counts.bytes += notice.bytes;
        context.stderr.write(`dropped the bodies of ${notice.day}\n`);
      }
      if (notice.kind === "moved") counts.moved += notice.events;
      if (notice.kind === "keys_deleted") counts.keys_deleted += notice.events;
    };
    const deps = { ledger: createRetentionLedger({ pool }), notify };
    const stop = onStopRequest(context, () => context.exit(1));
    const result: Ending = await runRetention(deps, config.retention, stop.signal)
      .catch((error: unknown) => {
        if (stop.signal.aborted) return { kind: "cancelled" } as const;
        throw error;
      })
      .finally(stop.dispose);
    const { busy = [], oldestDay = null } = result.kind === "done" ? result : {};
    createPrinter(
      context,
      json,
    )({
      json: { outcome: result.kind, ...counts, busy, oldest_day: oldestDay },
      text: resultText(result, counts),
    });
    return result.kind === "done" ? 0 : 1;
  });
}

function resultText(result: Ending, counts: Counts): string {
  if (result.kind === "taken") return "nothing done: a worker is running retention";
  const lines = [
    `moved on ${counts.moved} bodies of events that are not completed`,
    `dropped ${counts.partitions_dropped} days of bodies (${formatBytes(counts.bytes)})`,
    `deleted ${counts.keys_deleted} completed events`,
  ];
  if (result.kind === "cancelled") return [...lines, "stopped before the end"].join("\n");
  const busy = result.busy.map((day) => `left ${day} for the next run: its bodies are in use`);
  return [...lines, ...busy].join("\n");
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function formatBytes(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1_000 && unit < UNITS.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  const digits = unit > 0 && size < 10 ? 1 : 0;
  return `${size.toFixed(digits)} ${UNITS[unit]}`;
}
