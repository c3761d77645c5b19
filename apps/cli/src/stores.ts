import { openCommand, openLedger, openQueues } from "@millrace/connect";
import { MillraceError } from "@millrace/core";
import { createPool, type Ledger } from "@millrace/ledger";
import { createOperator, type Actor, type Operator } from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import { loadConfig } from "@millrace/service";
import { type CliContext, readSettings, type Settings } from "./context.ts";
import { readQueueKey, readRun } from "./data-folder.ts";

/** Without `redisUrl` the queue is on Postgres too. */
export interface Stores {
  readonly databaseUrl: string;
  /** The same database by connections of their own; undefined where `databaseUrl` gives these. */
  readonly sessionUrl?: string | undefined;
  readonly redisUrl: string | undefined;
  /** Signs jobs on Redis; undefined where jobs are not signed. */
  readonly queueKey?: string | undefined;
  readonly queuePrefix?: string | undefined;
}

/** @throws `database_unreachable` where neither the environment nor a run here names one */
export async function findStores({ environment, dataDir }: Settings): Promise<Stores> {
  const { DATABASE_URL: databaseUrl, DATABASE_SESSION_URL: sessionUrl } = environment;
  const { REDIS_URL: redisUrl, QUEUE_PREFIX: queuePrefix } = environment;
  const queueKey = environment.MILLRACE_QUEUE_KEY ?? (await readQueueKey(dataDir));
  if (databaseUrl !== undefined)
    return { databaseUrl, sessionUrl, redisUrl, queueKey, queuePrefix };
  const run = await readRun(dataDir);
  if (run !== undefined) {
    // Both of the run: a REDIS_URL that was set since then is no queue of its ledger.
    return { databaseUrl: run.database_url, redisUrl: run.redis_url, queueKey, queuePrefix };
  }
  throw new MillraceError(
    "database_unreachable",
    `Cannot find the ledger: DATABASE_URL is not set, and no \`millrace start\` runs in ${dataDir}`,
  );
}

export async function withQueues<Result>(
  stores: Stores,
  sources: readonly string[],
  work: (queues: Queues) => Promise<Result>,
): Promise<Result> {
  const queues = await openQueues(variablesOf(stores), { role: "cli", sources });
  try {
    return await work(queues);
  } finally {
    await queues.close();
  }
}

export type Pool = ReturnType<typeof createPool>;

export async function withPool<Result>(
  options: Parameters<typeof createPool>[0],
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = createPool(options);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

export async function withLedger<Result>(
  context: CliContext,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl } = await findStores(readSettings(context));
  const { ledger, close } = await openLedger(databaseUrl);
  try {
    return await work(ledger);
  } finally {
    await close();
  }
}

export async function withStores<Result>(
  context: CliContext,
  work: (stores: OpenStores) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  const stores = openCommand(variablesOf(await findStores(settings)), config);
  try {
    return await work(await stores.opened);
  } finally {
    await stores.close();
  }
}

export interface OpenStores {
  readonly ledger: Ledger;
  readonly queues: Queues;
}

function variablesOf({ databaseUrl, sessionUrl, redisUrl, queueKey, queuePrefix }: Stores) {
  return {
    DATABASE_URL: databaseUrl,
    DATABASE_SESSION_URL: sessionUrl,
    REDIS_URL: redisUrl,
    MILLRACE_QUEUE_KEY: queueKey,
    ...(queuePrefix === undefined ? {} : { QUEUE_PREFIX: queuePrefix }),
  };
}

export async function withOperator<Result>(
  context: CliContext,
  reason: string | undefined,
  work: (operator: Operator, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  return await withStores(context, (stores) =>
    work(createOperator(stores, actorOf(context, reason)), stores.ledger),
  );
}

export const actorOf = ({ user }: CliContext, reason: string | undefined): Actor => ({
  ...{ user, role: "operator", via: "cli", reason },
});

/** Completes the `error` of a filter, of which you can type the beginning. */
export async function withWholeError<Filter extends { readonly error?: string | undefined }>(
  { errors }: Pick<Ledger, "errors">,
  filter: Filter,
): Promise<Filter> {
  const { error } = filter;
  return error === undefined ? filter : { ...filter, error: await errors.findFingerprint(error) };
}
