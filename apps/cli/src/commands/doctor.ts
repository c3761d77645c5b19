import { isMillraceError, type Config } from "@millrace/core";
import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import { diagnose, type Diagnosis } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { readRun, type Run } from "../data-folder.ts";
import { POSTGRES_CHECKS, type StoresChecked } from "../doctor/check-postgres.ts";
import { PROJECT_CHECKS, type Project } from "../doctor/check-project.ts";
import { keyFault, openChecks, QUEUE_CHECKS, REDIS_CHECK } from "../doctor/check-queues.ts";
import {
  asJson,
  asText,
  bad,
  note,
  runChecks,
  unknown,
  type Line,
  type Report,
} from "../doctor/report.ts";
import { createProgress, createStatus } from "../progress.ts";
import { reportError } from "../report-error.ts";
import { findStores, type Stores, withQueues } from "../stores.ts";
import { createPrinter } from "../terminal-text.ts";
import { partsOf } from "./migrate.ts";

const DOCTOR_HELP = `
Checks the config and its handlers, secrets, the roles or their ports, Postgres (version, settings,
connections, standbys, migrations, rights of the logins), Redis (version, eviction policy, AOF),
clocks, and the reconciler. Then it compares every pending event with its job, and every finished job
with its event. It changes nothing: each problem comes with its fix, and each kind of disagreement
with what the workers' reconciler does about it. Uses DATABASE_URL and REDIS_URL, or the running
\`millrace start\`.

Exit codes: 0 no problem found, 1 a problem found (BAD), 2 no problem found, but the check could not
finish (?).

Examples:
  $ millrace doctor
  $ millrace doctor --json | jq .disagreements`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("find problems and say how to fix them")
    .option("--json", "print the report as JSON")
    .addHelpText("after", DOCTOR_HELP)
    .action(async ({ json }: { json?: true }) => {
      context.setExitCode(await runDoctor(context, json));
    });
}

const EXAMPLES_MAX = 5;

/** Returns the exit code: 0 no problem, 1 a problem, 2 unknown. */
async function runDoctor(context: CliContext, json: true | undefined): Promise<number> {
  let report: Report;
  try {
    report = await examine(context);
  } catch (error) {
    reportError(error, context.stderr, { withStack: false });
    return 2;
  }
  createPrinter(context, json)({ json: asJson(report), text: asText(report, context.stdout) });
  return exitCodeOf(report);
}

function exitCodeOf({ checks, diagnosis }: Report): number {
  const isBad = checks.some(({ state }) => state === "bad");
  if (isBad || (diagnosis !== undefined && diagnosis.found.size > 0)) return 1;
  return diagnosis === undefined || checks.some(({ state }) => state === "unknown") ? 2 : 0;
}

async function examine(context: CliContext): Promise<Report> {
  const settings = readSettings(context);
  const checks: Line[] = [];
  const run = await readRun(settings.dataDir);
  const isApart = run !== undefined && namesAnother(settings.environment.DATABASE_URL, run);
  if (isApart) checks.push({ name: "start", ...APART });
  const project: Project = { context, settings, run, isApart };
  await runChecks(checks, PROJECT_CHECKS, project);
  const { loaded, handlers = [] } = project;
  if (loaded === undefined) return { checks, diagnosis: undefined };
  const { config } = loaded;
  const { environment } = settings;
  let stores: Stores;
  try {
    stores = await findStores(settings);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const fix = "Set DATABASE_URL, such as postgres://user:password@127.0.0.1:5432/app";
    checks.push({ name: "postgres", ...bad(error.message, fix) });
    await runChecks(checks, [REDIS_CHECK], { ...environment, config });
    return { checks, diagnosis: undefined };
  }
  const ofStores = await examineStores(context, {
    ...stores,
    ...(isApart ? { MILLRACE_QUEUE_KEY: environment.MILLRACE_QUEUE_KEY } : {}),
    ...{ config, handlers, parts: partsOf(loaded) },
  });
  return { ...ofStores, checks: [...checks, ...ofStores.checks] };
}

const APART = note(
  "DATABASE_URL names another database than the `millrace start` of this folder: its roles, secrets, and queue key are left out",
  "Unset DATABASE_URL to examine what `millrace start` runs",
);

/** Compares host, port, and name alone: a login of another role is on the same database. */
function namesAnother(databaseUrl: string | undefined, run: Run): boolean {
  if (databaseUrl === undefined) return false;
  const [named, own] = [databaseUrl, run.database_url].map((text) => {
    if (!URL.canParse(text)) return text;
    const { host, pathname, searchParams } = new URL(text);
    return [host.replace("localhost", "127.0.0.1"), searchParams.get("host"), pathname].join();
  });
  return named !== own;
}

async function examineStores(context: CliContext, stores: Omit<StoresChecked, "pool">) {
  const { config, DATABASE_URL: url } = stores;
  const checks: Line[] = [];
  const pool = createPool({ url, max: 3, applicationName: "millrace-doctor" });
  const show = createStatus(context.stderr);
  try {
    await runChecks(checks, [...POSTGRES_CHECKS, ...QUEUE_CHECKS], { ...stores, pool }, show);
    if (!canCompare(checks, stores)) return { checks, diagnosis: undefined };
    return await withQueues({ config, stores }, async (queues) => {
      const ledger = createLedger({ pool });
      const on = { config, pool, ledger, queues };
      await runChecks(checks, openChecks(on), on, show);
      show("Comparing ledger and queues…");
      const diagnosis = await compare(context, { ledger, queues, config });
      for (const [source, error] of diagnosis.notCompared) {
        checks.push(unknown(`queue of ${source}`, error));
      }
      return { checks, diagnosis };
    });
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    // The server went away, or the login cannot read.
    checks.push(unknown("epochs", error));
    return { checks, diagnosis: undefined };
  } finally {
    show("");
    await pool.end();
  }
}

/** Opening a queue on Postgres creates its tables, so without tables nothing is compared. */
function canCompare(checks: readonly Line[], stores: Stores): boolean {
  if (keyFault(stores) !== undefined) return false;
  return checks.every(({ name, state }) => {
    if (name === "schema" || (name === "queue" && stores.REDIS_URL === undefined))
      return state === "ok";
    return state !== "unknown";
  });
}

async function compare(
  context: CliContext,
  { ledger, queues, config }: { ledger: Ledger; queues: Queues; config: Config },
): Promise<Diagnosis> {
  const isWatched = context.stderr.isTTY === true;
  const progress = createProgress(isWatched ? await count(ledger, queues) : 0, context.stderr);
  try {
    return await diagnose(
      { ledger, queues, isSound: (event) => checkJob({ event }) === undefined },
      {
        sources: Object.keys(config.sources),
        graceMs: config.reconciler.graceMs,
        keysDays: config.retention.keysDays,
        examplesMax: EXAMPLES_MAX,
        onProgress: (looked) => progress.reach(looked),
      },
    );
  } finally {
    progress.stop();
  }
}

async function count(ledger: Ledger, queues: Queues): Promise<number> {
  const [undone, jobs] = await Promise.all([ledger.reads.countUndone(), queues.counts()]);
  const pending = [...undone.values()].reduce((sum, of) => sum + of.pending, 0);
  return [...jobs.values()].reduce((sum, of) => sum + of.failed + of.completed, pending);
}
