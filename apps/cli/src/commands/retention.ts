import { openLedger, sessionNeeded } from "@millrace/connect";
import { createRetentionLedger } from "@millrace/ledger";
import {
  planRetention,
  runRetention,
  type RetentionNotice,
  type RetentionPlan,
  type RetentionPolicy,
  type RetentionResult,
} from "@millrace/operations";
import { archiveDirOf, loadConfig } from "@millrace/service";
import type { Command } from "commander";
import { readSettings, type CliContext } from "../context.ts";
import { createProgress } from "../progress.ts";
import { onStopRequest } from "../stop-request.ts";
import { findStores, withOpen } from "../stores.ts";
import { formatTable } from "../terminal-text.ts";

const RETENTION_HELP = `
Workers do this automatically, every hour. The config's \`retention\` settings say how long data is
kept, by the database's clock. Pending and failed events are never dropped or deleted. Ctrl-C stops
after the current step, and the next run continues from there. Exits with 1 if it did not finish, or
if a worker is running retention.

Examples:
  $ millrace retention --dry-run                shows what would be removed, and how much
  $ millrace retention
  $ millrace retention --json`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("drop old bodies and delete old events now")
    .option("--dry-run", "show what would be removed without changing anything")
    .option("--json", "print the result as JSON")
    .addHelpText("after", RETENTION_HELP)
    .action(async (options: Options) => {
      context.setExitCode(await runRetentionCommand(context, options));
    });
}

interface Options {
  readonly dryRun?: true;
  readonly json?: true;
}

type Ledger = ReturnType<typeof createRetentionLedger>;

/** @throws `archive_failed`, `database_unavailable`, `migration_needed`, `session_needed` */
async function runRetentionCommand(
  context: CliContext,
  { dryRun, json }: Options,
): Promise<number> {
  const settings = readSettings(context);
  const loaded = await loadConfig(settings.configPath);
  const policy = { ...loaded.config.retention, archiveDir: archiveDirOf(loaded) };
  const { DATABASE_URL, DATABASE_SESSION_URL } = await findStores(settings);
  const print = (text: string) => context.stdout.write(`${text}\n`);
  const opened = await openLedger(DATABASE_SESSION_URL ?? DATABASE_URL);
  return await withOpen(opened, async ({ pool, pooler }) => {
    const ledger = createRetentionLedger({ pool });
    if (dryRun === true) {
      const plan = await planRetention({ ledger }, policy);
      print(json === true ? planJson(plan) : planText(plan, policy));
      return 0;
    }
    if (pooler === "transaction") {
      const isApart = DATABASE_SESSION_URL !== undefined;
      throw sessionNeeded("the retention", isApart ? "DATABASE_SESSION_URL" : "DATABASE_URL");
    }
    const { result, counts } = await run(context, ledger, policy);
    print(json === true ? resultJson(result, counts) : resultText(result, counts));
    return result.kind === "done" ? 0 : 1;
  });
}

type Ending = RetentionResult | { readonly kind: "cancelled" };

type Counts = typeof NOTHING;
const NOTHING = { moved: 0, archived: 0, partitions_dropped: 0, bytes: 0, keys_deleted: 0 };

async function run(
  context: CliContext,
  ledger: Ledger,
  policy: RetentionPolicy,
): Promise<{ result: Ending; counts: Counts }> {
  const stop = onStopRequest(context, () => context.exit(1));
  const progress = createProgress(await countSteps(context, ledger, policy), context.stderr);
  const counts = { ...NOTHING };
  let steps = 0;
  const notify = (notice: RetentionNotice) => {
    if (notice.kind === "dropped") {
      counts.partitions_dropped += 1;
      counts.bytes += notice.bytes;
      steps += 1;
    }
    if (notice.kind === "moved") counts.moved += notice.events;
    if (notice.kind === "archived") counts.archived += notice.events;
    if (notice.kind === "keys_deleted") counts.keys_deleted += notice.events;
    const isStep = ["moved", "archiving", "keys_deleted"].includes(notice.kind);
    if (isStep && "events" in notice) steps += notice.events;
    progress.reach(steps);
  };
  try {
    return { result: await runRetention({ ledger, notify }, policy, stop.signal), counts };
  } catch (error) {
    if (stop.signal.aborted) return { result: { kind: "cancelled" }, counts };
    throw error;
  } finally {
    progress.stop();
    stop.dispose();
  }
}

async function countSteps(
  context: CliContext,
  ledger: Ledger,
  policy: RetentionPolicy,
): Promise<number> {
  if (context.stderr.isTTY !== true) return 0;
  const { partitions, keysToDelete } = await planRetention({ ledger }, policy);
  const ofPartition = ({ events, toMove }: (typeof partitions)[number]) =>
    1 + toMove + (policy.archiveDir === undefined ? 0 : events - toMove);
  return partitions.reduce((sum, partition) => sum + ofPartition(partition), keysToDelete);
}

function planText(plan: RetentionPlan, policy: RetentionPolicy): string {
  const { partitions, keysToDelete, oldestDay } = plan;
  const lines = [
    `bodies are kept ${policy.bodiesDays} days, events ${policy.keysDays}; the oldest bodies are of ${oldestDay ?? "no day"}`,
  ];
  if (partitions.length === 0) lines.push("would drop no bodies");
  else lines.push("would drop the bodies of", daysTable(plan, policy));
  lines.push(`would delete ${keysToDelete} completed events`);
  return lines.join("\n");
}

function daysTable({ partitions }: RetentionPlan, { archiveDir }: RetentionPolicy): string {
  const rows = partitions.map(({ day, bytes, events, toMove, archive }) => [
    `  ${day}`,
    formatBytes(bytes),
    `${events} events`,
    `${toMove} to move on`,
    ...(archive === undefined ? [] : [`archived to ${archive}`]),
  ]);
  const sum = (of: (partition: (typeof partitions)[number]) => number) =>
    partitions.reduce((total, partition) => total + of(partition), 0);
  const total = [
    "  in all",
    formatBytes(sum(({ bytes }) => bytes)),
    `${sum(({ events }) => events)} events`,
    `${sum(({ toMove }) => toMove)} to move on`,
    ...(archiveDir === undefined ? [] : [""]),
  ];
  return formatTable([...rows, total]);
}

function planJson({ partitions, keysToDelete, oldestDay }: RetentionPlan): string {
  return JSON.stringify({
    dry_run: true,
    partitions: partitions.map(({ day, bytes, events, toMove, archive }) => ({
      ...{ day, bytes, events, to_move: toMove, archive: archive ?? null },
    })),
    keys_to_delete: keysToDelete,
    oldest_day: oldestDay ?? null,
  });
}

function resultText(result: Ending, counts: Counts): string {
  if (result.kind === "taken") return "nothing done: a worker is running retention";
  const lines = [
    `moved on ${counts.moved} bodies of events that are not completed`,
    `archived ${counts.archived} events`,
    `dropped ${counts.partitions_dropped} days of bodies (${formatBytes(counts.bytes)})`,
    `deleted ${counts.keys_deleted} completed events`,
  ];
  if (result.kind === "cancelled") return [...lines, "stopped before the end"].join("\n");
  const busy = result.busy.map((day) => `left ${day} for the next run: its bodies are in use`);
  return [...lines, ...busy].join("\n");
}

function resultJson(result: Ending, counts: Counts): string {
  return JSON.stringify({
    ...{ dry_run: false, outcome: result.kind, ...counts },
    busy: result.kind === "done" ? result.busy : [],
    oldest_day: result.kind === "done" ? (result.oldestDay ?? null) : null,
  });
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
