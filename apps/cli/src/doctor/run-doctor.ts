import type { Config } from "@millrace/core";
import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import { diagnose, type Diagnosis } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";
import type { LoadedConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { findStores, type Stores, withQueues } from "../stores.ts";
import { partsOf } from "../migrate.ts";
import { createProgress } from "../progress.ts";
import { reportError } from "../report-error.ts";
import { readSettings } from "../settings.ts";
import { checkConfig, checkHandlers, checkSecrets } from "./check-config.ts";
import { checkClocks, checkListeners } from "./check-machine.ts";
import {
  checkEpochs,
  checkPostgres,
  checkQueue,
  checkReconciler,
  checkTables,
} from "./check-stores.ts";
import { type Check, asJson, asText } from "./report.ts";

/** What the doctor found. */
export interface Report {
  readonly checks: readonly Check[];
  /** Undefined when it could not be told. */
  readonly diagnosis: Diagnosis | undefined;
}

const EXAMPLES_MAX = 5;

/**
 * Says how config, secrets, ports, Postgres, the queue and the reconciler are, and what ledger and
 * queues disagree on. Changes nothing. Gives the exit code: 0 all is well, 1 something is not, 2 it could not be told.
 */
export async function runDoctor(context: CliContext, { json }: { json: boolean }): Promise<number> {
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
  if (diagnosis === undefined || checks.some(({ state }) => state === "unknown")) return 2;
  return diagnosis.found.size > 0 || checks.some(({ state }) => state === "bad") ? 1 : 0;
}

async function examine(context: CliContext): Promise<Report> {
  const settings = readSettings(context);
  const { check: ofConfig, loaded } = await checkConfig(settings);
  const ofListeners = await checkListeners(settings);
  if (loaded === undefined) return { checks: [ofConfig, ofListeners], diagnosis: undefined };
  const first = [
    ofConfig,
    await checkHandlers(loaded.config),
    await checkSecrets(loaded.config, context, settings),
    ofListeners,
  ];
  const { checks, diagnosis } = await examineStores(context, loaded, await findStores(settings));
  return { checks: [...first, ...checks], diagnosis };
}

async function examineStores(
  context: CliContext,
  loaded: LoadedConfig,
  stores: Stores,
): Promise<Report> {
  const { config } = loaded;
  const pool = createPool({ url: stores.databaseUrl, max: 3, applicationName: "millrace-doctor" });
  try {
    const before = [await checkPostgres(pool)];
    for (const part of partsOf(loaded)) before.push(await checkTables(pool, part));
    before.push(await checkQueue(stores), await checkClocks(pool, stores));
    // Without the tables there is nothing to compare, and a queue on Postgres would make its own.
    const isOpen = before.every(({ name, state }) =>
      name === "schema" ? state === "ok" : state !== "unknown",
    );
    if (!isOpen) return { checks: before, diagnosis: undefined };
    return await withQueues(stores, Object.keys(config.sources), async (queues) => {
      const ledger = createLedger({ pool });
      const after = [await checkEpochs(ledger, queues), await checkReconciler(pool)];
      const diagnosis = await compare(context, { ledger, queues, config });
      return { checks: [...before, ...after], diagnosis };
    });
  } finally {
    await pool.end();
  }
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

/** About how many events and jobs there are to look at; for the bar. */
async function count(ledger: Ledger, queues: Queues): Promise<number> {
  const [pending, jobs] = await Promise.all([
    ledger.reads.countEvents({ status: "pending" }),
    queues.counts(),
  ]);
  return [...jobs.values()].reduce((sum, of) => sum + of.failed + of.completed, pending);
}
