import { openLedger, sessionNeeded } from "@millrace/connect";
import { createRetentionLedger } from "@millrace/ledger";
import { planRetention, runRetention, type RetentionPolicy } from "@millrace/operations";
import { archiveDirOf, loadConfig } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { createProgress } from "../progress.ts";
import {
  planAsJson,
  planAsText,
  createCounts,
  resultAsJson,
  resultAsText,
  type Ending,
  type Counts,
} from "../retention/format-retention.ts";
import { onStopRequest } from "../stop-request.ts";
import { findStores } from "../stores.ts";

const RETENTION_HELP = `
Workers do this automatically, every hour. The config's \`retention\` settings say how long data is
kept, by the database's clock. Pending and failed events are never dropped or deleted. Ctrl-C stops
after the current step, and the next run continues from there. Exits with 1 if it did not finish, or
if a worker is running retention.

Examples:
  $ millrace retention --dry-run                shows what would be removed, and how much
  $ millrace retention
  $ millrace retention --json`;

/** `millrace retention`: removes data that is older than its retention period. */
export function addCommands(program: Command, context: CliContext): void {
  program
    .command("retention")
    .description("drop old bodies and delete old events now")
    .option("--dry-run", "show what would be removed without changing anything")
    .option("--json", "print the result as JSON")
    .addHelpText("after", RETENTION_HELP)
    .action(async ({ dryRun, json }: { dryRun?: true; json?: true }) => {
      const options = { dryRun: dryRun === true, json: json === true };
      context.setExitCode(await runRetentionCommand(context, options));
    });
}

type Ledger = ReturnType<typeof createRetentionLedger>;

/**
 * Lets go of what is older than it is kept, with a bar, or says what would go. Gives the exit code.
 *
 * @throws `archive_failed`, `database_unavailable`, `migration_needed`, `session_needed`
 */
async function runRetentionCommand(
  context: CliContext,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<number> {
  const settings = readSettings(context);
  const loaded = await loadConfig(settings.configPath);
  const policy = { ...loaded.config.retention, archiveDir: archiveDirOf(loaded) };
  const { databaseUrl, sessionUrl } = await findStores(settings);
  const say = (text: string) => context.stdout.write(`${text}\n`);
  const { pool, pooler, close } = await openLedger(sessionUrl ?? databaseUrl);
  try {
    const ledger = createRetentionLedger({ pool });
    if (dryRun) {
      const plan = await planRetention({ ledger }, policy);
      say(json ? planAsJson(plan) : planAsText(plan, policy));
      return 0;
    }
    if (pooler === "transaction") {
      const variable = sessionUrl === undefined ? "DATABASE_URL" : "DATABASE_SESSION_URL";
      throw sessionNeeded("the retention", variable);
    }
    const { result, tally } = await run(context, ledger, policy);
    say(json ? resultAsJson(result, tally) : resultAsText(result, tally));
    return result.kind === "done" ? 0 : 1;
  } finally {
    await close();
  }
}

async function run(
  context: CliContext,
  ledger: Ledger,
  policy: RetentionPolicy,
): Promise<{ result: Ending; tally: Counts }> {
  const stop = onStopRequest(context, () => context.exit(1));
  const progress = createProgress(await countSteps(context, ledger, policy), context.stderr);
  const tally = createCounts();
  const notify = (notice: Parameters<Counts["add"]>[0]) => {
    tally.add(notice);
    progress.reach(tally.steps);
  };
  try {
    return { result: await runRetention({ ledger, notify }, policy, stop.signal), tally };
  } catch (error) {
    if (stop.signal.aborted) return { result: { kind: "cancelled" }, tally };
    throw error;
  } finally {
    progress.stop();
    stop.dispose();
  }
}

/** Counting is for the bar, and nobody watches where there is none. */
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
