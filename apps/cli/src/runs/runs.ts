import type { BulkRun } from "@millrace/api-contract";
import type { BulkRunChange } from "@millrace/ledger";
import { changeBulkRun } from "@millrace/operations";
import type { CliContext } from "../context.ts";
import { readSettings } from "../settings.ts";
import { findStores, withLedger } from "../stores.ts";
import { formatTable, printable } from "../terminal-text.ts";
import { number, resultText, watchRun } from "./watch-run.ts";

/**
 * Lists bulk runs, newest first.
 *
 * @throws `database_unreachable`, `database_unavailable`, `migration_needed`
 */
export async function listRuns(
  context: CliContext,
  { limit, json }: { readonly limit: number; readonly json?: true },
): Promise<void> {
  const { databaseUrl } = await findStores(readSettings(context));
  await withLedger(databaseUrl, async (ledger) => {
    const runs = await ledger.bulkRuns.find(limit);
    const lines = runs.map((run) => JSON.stringify(run)).join("\n");
    const text = json === true ? lines : tableOf(runs, context.stdout.columns);
    if (text !== "") context.stdout.write(`${text}\n`);
  });
}

/**
 * Watches a run, or says how it ended. Gives the exit code.
 *
 * @throws `run_not_found`; `database_unreachable`, `database_unavailable`, `migration_needed`
 */
export async function watchOne(context: CliContext, id: number, json: boolean): Promise<number> {
  const { databaseUrl } = await findStores(readSettings(context));
  return await withLedger(databaseUrl, async (ledger) =>
    watchRun(context, ledger, await ledger.bulkRuns.get(id), json),
  );
}

/**
 * Pauses, resumes, or stops a run, or changes its rate, and says so.
 *
 * @throws `run_not_found`, `run_ended`; `database_unreachable`, `database_unavailable`, `migration_needed`
 */
export async function changeRun(
  context: CliContext,
  id: number,
  change: BulkRunChange,
  { reason, json }: { readonly reason?: string; readonly json?: true },
): Promise<void> {
  const { databaseUrl } = await findStores(readSettings(context));
  await withLedger(databaseUrl, async (ledger) => {
    const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
    const run = await changeBulkRun({ ledger, actor }, id, change);
    context.stdout.write(`${json === true ? JSON.stringify(run) : changeText(run)}\n`);
  });
}

const changeText = (run: BulkRun): string =>
  run.state === "stopped"
    ? `stopped run ${run.id}\n${resultText(run)}`
    : `run ${run.id} is ${run.state}, ${number(run.rate)} events per second`;

function tableOf(runs: readonly BulkRun[], width: number | undefined): string {
  const rows = runs.map((run) => [
    ...[String(run.id), run.verb, run.state, run.created_at.slice(0, 19), `${run.rate}/s`],
    run.total === null ? `${number(run.listed)} of many` : `${run.listed}/${run.total}`,
    ...[run.results.completed, run.results.failed, run.results.pending].map(number),
    printable(run.started_by ?? ""),
  ]);
  const head = ["RUN", "VERB", "STATE", "STARTED", "RATE", "REACHED"];
  return formatTable([[...head, "COMPLETED", "FAILED", "PENDING", "BY"], ...rows], width);
}
