import { isMillraceError, MillraceError } from "@millrace/core";
import { checkSchema, createLedger, createPool, type Ledger } from "@millrace/ledger";
import { createOperator, type Operator } from "@millrace/operations";
import {
  createPostgresQueues,
  createRedisQueues,
  type QueueNotice,
  type Queues,
} from "@millrace/queue";
import { loadConfig, reasonOf } from "@millrace/service";
import type { CliContext } from "./context.ts";
import { readRun } from "./run-file.ts";
import { readSettings, type Settings } from "./settings.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** Where the ledger is, and the queue; without `redisUrl` the queue is on Postgres too. */
export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
}

/**
 * Finds the stores that a command works on: those of the environment, else those of the
 * `millrace start` that runs here.
 *
 * @throws `database_unreachable` when neither names a database.
 */
export async function findStores({ environment, dataDir }: Settings): Promise<Stores> {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = environment;
  if (databaseUrl !== undefined) return { databaseUrl, redisUrl };
  const run = await readRun(dataDir);
  if (run !== undefined) {
    return { databaseUrl: run.database_url, redisUrl: redisUrl ?? run.redis_url };
  }
  throw new MillraceError(
    "database_unreachable",
    `Cannot find the ledger: DATABASE_URL is not set, and no \`millrace start\` runs in ${dataDir}`,
  );
}

/** Milliseconds that a connection may take to come up. */
const PATIENCE_MS = 5_000;

/**
 * Opens the queues of some sources for the time of one command.
 *
 * @throws `redis_unreachable`, `database_unreachable`.
 */
export async function withQueues<Result>(
  { databaseUrl, redisUrl }: Stores,
  sources: readonly string[],
  work: (queues: Queues) => Promise<Result>,
): Promise<Result> {
  let trouble: unknown;
  const notify = (notice: QueueNotice): void => {
    if (notice.kind === "background_error") trouble = notice.error;
  };
  const options = { sources, role: "cli", notify } as const;
  const queues =
    redisUrl === undefined
      ? await createPostgresQueues({ ...options, url: databaseUrl })
      : createRedisQueues({ ...options, url: redisUrl });
  try {
    await connected(queues, () => trouble);
    return await work(queues);
  } finally {
    await queues.close();
  }
}

// A ping says no more than that it is not connected; the reason was told beside it.
function because(error: unknown, reason: unknown): unknown {
  if (reason === undefined || !isMillraceError(error)) return error;
  return new MillraceError(error.code, `Cannot reach the queue: ${reasonOf(reason)}`, {
    cause: error,
  });
}

// Redis' queues are given before their connection is up, and answer with errors until then.
async function connected(queues: Queues, trouble: () => unknown): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await queues.ping();
    } catch (error) {
      if (Date.now() >= deadline) throw because(error, trouble());
      await sleep(25);
    }
  }
}

/**
 * Opens the ledger for the time of one command.
 *
 * @throws `database_unavailable`, `migration_needed`, `migration_unknown`.
 */
export async function withLedger<Result>(
  databaseUrl: string,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const pool = createPool({ url: databaseUrl, max: 2, applicationName: "millrace-cli" });
  try {
    await checkSchema(pool);
    return await work(createLedger({ pool }));
  } finally {
    await pool.end();
  }
}

/**
 * Opens the ledger and the queues of every source for the time of one command.
 *
 * @throws `invalid_config`, `config_not_found`, `database_unreachable`, `database_unavailable`,
 * `migration_needed`, `redis_unreachable`.
 */
async function withStores<Result>(
  context: CliContext,
  work: (stores: { ledger: Ledger; queues: Queues }) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  const stores = await findStores(settings);
  return await withLedger(stores.databaseUrl, (ledger) =>
    withQueues(stores, Object.keys(config.sources), (queues) => work({ ledger, queues })),
  );
}

/**
 * Opens ledger and queues for the time of one command, and does what it does under the name of who runs
 * it.
 *
 * @throws as {@link withStores}
 */
export async function withOperator<Result>(
  context: CliContext,
  reason: string | undefined,
  work: (operator: Operator, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const actor = { user: context.user, role: "operator", via: "cli", reason } as const;
  return await withStores(context, (stores) => work(createOperator(stores, actor), stores.ledger));
}
