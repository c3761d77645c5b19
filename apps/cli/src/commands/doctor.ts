import { isMillraceError, type Config, type Handler } from "@millrace/core";
import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import { diagnose, type Diagnosis } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";
import type { LoadedConfig } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, readSettings, type Settings } from "../context.ts";
import { checkConfig, checkHandlers, checkSecrets, checkTypes } from "../doctor/check-config.ts";
import { checkClocks, checkListeners } from "../doctor/check-machine.ts";
import {
  checkConnections,
  checkMisplaced,
  checkPostgres,
  checkRetention,
  checkRights,
  checkStandby,
  checkSession,
} from "../doctor/check-postgres.ts";
import {
  checkDisk,
  checkEpochs,
  checkPostgresQueue,
  checkReconciler,
  checkRedisQueue,
  checkTables,
  keyFault,
} from "../doctor/check-stores.ts";
import { bad, check, type Check, asJson, asText, type Report } from "../doctor/report.ts";
import { createProgress } from "../progress.ts";
import { reportError } from "../report-error.ts";
import { findStores, type Stores, withQueues } from "../stores.ts";
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

/** `millrace doctor`: finds problems, and compares the ledger with the queues. */
export function addCommands(program: Command, context: CliContext): void {
  program
    .command("doctor")
    .description("find problems and say how to fix them")
    .option("--json", "print the report as JSON")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (options: { json?: true }) => {
      context.setExitCode(await runDoctor(context, { json: options.json === true }));
    });
}

type Pool = ReturnType<typeof createPool>;

/** The project in the current folder. */
interface Project extends LoadedConfig {
  readonly handlers: readonly Handler[];
}

const EXAMPLES_MAX = 5;

/**
 * Checks config, secrets, ports, Postgres, the queue and the reconciler, and compares the ledger
 * with the queues. Changes nothing. Returns the exit code: 0 no problem, 1 a problem, 2 unknown.
 */
async function runDoctor(context: CliContext, { json }: { json: boolean }): Promise<number> {
  let report: Report;
  try {
    report = await examine(context);
  } catch (error) {
    reportError(error, context.stderr, { withStack: false });
    return 2;
  }
  context.stdout.write(`${json ? asJson(report) : asText(report, context.stdout)}\n`);
  return exitCodeOf(report);
}

function exitCodeOf({ checks, diagnosis }: Report): number {
  const isBad = checks.some(({ state }) => state === "bad");
  if (isBad || (diagnosis !== undefined && diagnosis.found.size > 0)) return 1;
  return diagnosis === undefined || checks.some(({ state }) => state === "unknown") ? 2 : 0;
}

async function examine(context: CliContext): Promise<Report> {
  const settings = readSettings(context);
  const { check: ofConfig, loaded } = await checkConfig(settings);
  const ofListeners = await checkListeners(settings);
  if (loaded === undefined) return { checks: [ofConfig, ofListeners], diagnosis: undefined };
  const { check: ofHandlers, handlers } = await checkHandlers(loaded.config);
  const first = [
    ofConfig,
    ofHandlers,
    await checkSecrets(loaded.config, context, settings),
    ofListeners,
  ];
  const { checks, diagnosis } = await examineNamed(context, { ...loaded, handlers }, settings);
  return { checks: [...first, ...checks], diagnosis };
}

/** Looks at the stores that are named; at Redis alone where no database is. */
async function examineNamed(
  context: CliContext,
  project: Project,
  settings: Settings,
): Promise<Report> {
  const { REDIS_URL: redisUrl, MILLRACE_QUEUE_KEY: queueKey } = settings.environment;
  const allowVolatile = settings.environment.MILLRACE_REDIS_VOLATILE === "1";
  let stores: Stores;
  try {
    stores = await findStores(settings);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const fix = "Set DATABASE_URL, such as postgres://user:password@127.0.0.1:5432/app";
    const checks = [await check("postgres", () => bad(error.message, fix))];
    if (redisUrl !== undefined) {
      const options = { allowVolatile, queue: project.config.queue };
      checks.push(await checkRedisQueue({ redisUrl, queueKey }, options));
    }
    return { checks, diagnosis: undefined };
  }
  const { RETENTION_DATABASE_URL: retentionUrl } = settings.environment;
  return await examineStores(context, project, { ...stores, allowVolatile, retentionUrl });
}

type NamedStores = Stores & { readonly retentionUrl: string | undefined };

async function examineStores(
  context: CliContext,
  project: Project,
  stores: NamedStores & { readonly allowVolatile: boolean },
): Promise<Report> {
  const { config } = project;
  const { redisUrl, queueKey, allowVolatile } = stores;
  const pool = createPool({ url: stores.databaseUrl, max: 3, applicationName: "millrace-doctor" });
  const checks: Check[] = [];
  try {
    const ofPostgres = await checkPostgres(pool, config);
    const answers = ofPostgres.state !== "unknown";
    checks.push(ofPostgres);
    if (answers) checks.push(...(await examineDatabase(pool, project, stores)));
    if (redisUrl !== undefined) {
      const options = { allowVolatile, queue: config.queue };
      const ofQueue = await checkRedisQueue({ redisUrl, queueKey }, options);
      checks.push(ofQueue);
      if (ofQueue.state === "ok") checks.push(await checkDisk(redisUrl));
    } else if (answers) {
      checks.push(await checkPostgresQueue(pool));
    }
    if (answers) checks.push(await checkClocks(pool, stores));
    if (!answers || !canCompare(checks, stores)) return { checks, diagnosis: undefined };
    return await withQueues(stores, Object.keys(config.sources), async (queues) => {
      const ledger = createLedger({ pool });
      checks.push(await checkEpochs(ledger, queues), await checkReconciler(pool));
      const diagnosis = await compare(context, { ledger, queues, config });
      checks.push(...(await checkCompared(diagnosis)));
      return { checks, diagnosis };
    });
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    // The server went away, or the login cannot read.
    checks.push(await check("epochs", () => Promise.reject(error)));
    return { checks, diagnosis: undefined };
  } finally {
    await pool.end();
  }
}

async function examineDatabase(
  pool: Pool,
  project: Project,
  stores: NamedStores,
): Promise<Check[]> {
  const queuesOnPostgres = stores.redisUrl === undefined;
  const checks = [
    await checkConnections(pool, project.config, { queuesOnPostgres }),
    ...(await checkStandby(pool)),
    ...(await checkSession(pool, stores)),
  ];
  for (const part of partsOf(project)) checks.push(await checkTables(pool, part));
  checks.push(...(await checkRights(pool)), ...(await checkMisplaced(pool)));
  const hasTables = checks.some(({ name, state }) => name === "schema" && state === "ok");
  if (!hasTables) return checks;
  checks.push(...(await checkRetention(pool, stores.retentionUrl)));
  return [...checks, ...(await checkTypes(pool, project))];
}

/** Opening a queue on Postgres creates its tables, so without tables nothing is compared. */
function canCompare(checks: readonly Check[], { redisUrl, queueKey }: Stores): boolean {
  if (redisUrl !== undefined && keyFault({ redisUrl, queueKey }) !== undefined) return false;
  return checks.every(({ name, state }) => {
    if (name === "schema" || (name === "queue" && redisUrl === undefined)) return state === "ok";
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

/** A line for each source whose queue fails by itself. */
function checkCompared({ notCompared }: Diagnosis): Promise<Check[]> {
  const lines = [...notCompared].map(([source, error]) =>
    check(`queue of ${source}`, () => Promise.reject(error)),
  );
  return Promise.all(lines);
}

/** About how many events and jobs there are to look at; for the bar. */
async function count(ledger: Ledger, queues: Queues): Promise<number> {
  const [undone, jobs] = await Promise.all([ledger.reads.countUndone(), queues.counts()]);
  const pending = [...undone.values()].reduce((sum, of) => sum + of.pending, 0);
  return [...jobs.values()].reduce((sum, of) => sum + of.failed + of.completed, pending);
}
