import {
  openCommand,
  openLedger,
  openQueues,
  type Opening,
  type StoreUrls,
} from "@millrace/connect";
import { type Config, MillraceError } from "@millrace/core";
import { createPool, type Ledger } from "@millrace/ledger";
import { createOperator, type Actor, type Operator } from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import { type CliContext, loadProject, readSettings, type Settings } from "./context.ts";
import { readQueueKey, readRun } from "./data-folder.ts";

/** Without a `REDIS_URL` the queue is on Postgres too. */
export type Stores = StoreUrls & { readonly DATABASE_URL: string };

/** @throws `database_unreachable` where neither the environment nor a run here names one */
export async function findStores({ environment, dataDir }: Settings): Promise<Stores> {
  const { DATABASE_URL } = environment;
  const MILLRACE_QUEUE_KEY = environment.MILLRACE_QUEUE_KEY ?? (await readQueueKey(dataDir));
  if (DATABASE_URL !== undefined) return { ...environment, DATABASE_URL, MILLRACE_QUEUE_KEY };
  const run = await readRun(dataDir);
  if (run !== undefined) {
    // All of the run: a REDIS_URL that was set since then is no queue of its ledger.
    const ofRun = { DATABASE_URL: run.database_url, REDIS_URL: run.redis_url, MILLRACE_QUEUE_KEY };
    return { ...environment, DATABASE_SESSION_URL: undefined, ...ofRun };
  }
  throw new MillraceError(
    "database_unreachable",
    `Cannot find the ledger: DATABASE_URL is not set, and no \`millrace start\` runs in ${dataDir}`,
  );
}

export async function findProject(context: CliContext) {
  const project = await loadProject(context);
  return { ...project, stores: await findStores(project) };
}

export async function withOpen<Open extends { close(): Promise<void> }, Result>(
  open: Open,
  work: (open: Open) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}

export async function withQueues<Result>(
  { config, stores }: { readonly config: Config; readonly stores: Stores },
  work: (queues: Queues) => Promise<Result>,
): Promise<Result> {
  const sources = Object.keys(config.sources);
  return await withOpen(await openQueues(stores, { role: "cli", sources }), work);
}

export type Pool = ReturnType<typeof createPool>;

export async function withPool<Result>(
  options: Parameters<typeof createPool>[0],
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = createPool(options);
  return await withOpen({ close: () => pool.end() }, () => work(pool));
}

export async function withLedger<Result>(
  context: CliContext,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL } = await findStores(readSettings(context));
  return await withOpen(await openLedger(DATABASE_URL), ({ ledger }) => work(ledger));
}

export async function withStores<Result>(
  context: CliContext,
  work: (stores: OpenStores, config: Config) => Promise<Result>,
): Promise<Result> {
  const { config, stores } = await findProject(context);
  return await withOpen(openCommand(stores, config), async ({ opened }) =>
    work(await opened, config),
  );
}

export type OpenStores = Awaited<Opening["opened"]>;

export async function withOperator<Result>(
  context: CliContext,
  reason: string | undefined,
  work: (operator: Operator, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  return await withStores(context, (stores) =>
    work(createOperator(stores, actorOf(context, reason)), stores.ledger),
  );
}

export function actorOf({ user }: CliContext, reason: string | undefined): Actor {
  return { user, role: "operator", via: "cli", reason };
}
