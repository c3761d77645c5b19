import { MillraceError, withHint, type Config } from "@millrace/core";
import { isDatabaseUnavailable, type LedgerOptions, type Pooler } from "@millrace/ledger";
import { connectionsWanted, type QueueRole, type Queues } from "@millrace/queue";
import { retryUntilAvailable } from "@millrace/service";
import { checkDatabase, retentionFinding, settingFindings } from "./check-database.ts";
import {
  checkConnections,
  cliConnections,
  connectionFinding,
  dashboardConnections,
  readConnectionUse,
  retentionConnections,
  workerConnections,
} from "./connection-budget.ts";
import { IngressStores } from "./ingress-stores.ts";
import { checkLedger, connectLedger, sessionNeeded, type ConnectedLedger } from "./open-ledger.ts";
import { openQueues, type StoreUrls, type StoreWatch } from "./open-queues.ts";
import { queueKeys } from "./queue-keys.ts";

/** The stores of a worker, a dashboard or a command. */
export interface Stores extends Pick<ConnectedLedger, "pool" | "ledger"> {
  /** For what drops bodies and deletes events: in a worker `RETENTION_DATABASE_URL` or `DATABASE_SESSION_URL`,
   * else `pool`. */
  readonly retentionPool: ConnectedLedger["pool"];
  readonly queues: Queues;
}

/** Stores that are being opened. */
export interface Opening {
  /**
   * The stores, once their servers were checked.
   *
   * @throws `migration_needed`, `migration_changed`, `migration_unknown`, `database_unreachable`; except in a command
   * `postgres_too_old`, `unsupported_isolation`, `missing_rights`; in a worker also `too_many_connections`, `session_needed`,
   * `redis_topology`, `redis_evicts`, `redis_volatile`; elsewhere `database_unavailable` and in a command `redis_unreachable`;
   * `shutting_down` when it is closed before.
   */
  readonly opened: Promise<Stores>;
  /** Stops waiting for a server, and disconnects. Bounded. */
  close(): Promise<void>;
}

/** Roles that have both stores. An ingress may have one. */
type FullRole = Exclude<QueueRole, "ingress">;

/**
 * Opens the stores of a role on the servers that the environment names. Returns at once; `opened` tells
 * when they can be used. The caller closes them, also after `opened` has rejected.
 *
 * @throws `invalid_config` when the environment does not name a server that the role needs;
 * `queue_key_missing`.
 */
export function openStores(
  environment: StoreUrls,
  config: Config,
  role: "ingress",
  watch: StoreWatch,
): IngressStores;
export function openStores(
  environment: StoreUrls,
  config: Config,
  role: FullRole,
  watch?: StoreWatch,
): Opening;
export function openStores(
  environment: StoreUrls,
  config: Config,
  role: QueueRole,
  given: StoreWatch = {},
): IngressStores | Opening {
  const watch: StoreWatch = {
    onAway: (store, error) => given.onError?.(`${store}: away`, error),
    ...given,
  };
  // Whoever starts a role learns it at once, whatever server is away.
  queueKeys(environment);
  return role === "ingress"
    ? new IngressStores(environment, config, watch)
    : openBoth(environment, config, role, watch);
}

function openBoth(
  environment: StoreUrls,
  config: Config,
  role: FullRole,
  watch: StoreWatch,
): Opening {
  const sources = Object.keys(config.sources);
  const postgres = connectLedger(
    {
      url: requireDatabase(environment, role),
      max: connectionsMax(role, config),
      applicationName: `millrace-${role}`,
      onError: (error) => watch.onError?.("postgres", error),
    },
    role === "worker" ? workerOptions(config, watch) : {},
  );
  const { pool, ledger } = postgres;
  const aside = role === "worker" ? connectRetention(environment, watch) : undefined;
  const closing = new AbortController();
  let queues: Queues | undefined;

  async function open(): Promise<Stores> {
    if (role === "worker") {
      const both = { postgres, retention: aside };
      await step("ledger", () => checkForWorker(both, environment, config, watch));
    } else await checkForOthers(postgres, environment, role);
    const opened = await step("queue", () => openQueues(environment, { role, sources }, watch));
    if (closing.signal.aborted) {
      await opened.close();
      throw closing.signal.reason;
    }
    queues = opened;
    if (role !== "worker") return { pool, retentionPool: pool, ledger, queues };
    const own = ownConnections(environment, [pool, aside?.pool]);
    await step("ledger", () => reportConnections(postgres, own, watch));
    return { pool, retentionPool: aside?.pool ?? pool, ledger, queues };
  }

  /** Only a worker waits: people see at once what a dashboard or a command cannot reach. */
  function step<T>(name: "ledger" | "queue", work: () => Promise<T>): Promise<T> {
    if (role !== "worker") return work();
    return retryUntilAvailable(work, {
      signal: closing.signal,
      isAway: isDatabaseUnavailable,
      onAway: (error) => watch.onAway?.(name, withHint(error)),
    });
  }

  const opened = open();
  // The caller may be busy with something else when it rejects.
  opened.catch(() => {});
  return {
    opened,
    close: async () => {
      closing.abort(new MillraceError("shutting_down", `Cannot continue: the ${role} is closing`));
      await queues?.close();
      await Promise.all([postgres.close(), aside?.close()]);
    },
  };
}

/** What a dashboard or a command needs of Postgres. */
async function checkForOthers(
  postgres: ConnectedLedger,
  environment: StoreUrls,
  role: Exclude<FullRole, "worker">,
): Promise<void> {
  await (role === "dashboard" ? checkDatabase(postgres.pool, role) : checkLedger(postgres));
  // Opening the queues on it may write.
  if (environment.REDIS_URL === undefined) await postgres.ledger.reads.ping();
}

/**
 * What a worker needs of Postgres, and what it is told about it: Postgres takes writes and has the connections, and no
 * pooler shares those of the retention, which detaches a day of bodies outside of a transaction, with time limits that belong
 * to the session.
 */
async function checkForWorker(
  { postgres, retention }: { postgres: ConnectedLedger; retention: ConnectedLedger | undefined },
  environment: StoreUrls,
  config: Config,
  watch: StoreWatch,
): Promise<void> {
  const { pool } = postgres;
  const { facts, pooler } = await checkDatabase(pool, "worker");
  await postgres.ledger.claims.ping();
  const hasOwnLogin = environment.RETENTION_DATABASE_URL !== undefined;
  if ((await poolerOfRetention()) === "transaction") {
    throw sessionNeeded("the retention", retentionVariable(environment));
  }
  const queuesOnPostgres = environment.REDIS_URL === undefined;
  await checkConnections(pool, config, { queuesOnPostgres });
  for (const finding of settingFindings(facts, config.worker)) watch.onFinding?.(finding);
  const finding = hasOwnLogin ? undefined : await retentionFinding((retention ?? postgres).pool);
  if (finding !== undefined) watch.onFinding?.(finding);

  async function poolerOfRetention(): Promise<Pooler> {
    if (retention === undefined) return pooler;
    try {
      if (!hasOwnLogin) return await checkLedger(retention);
      return (await checkDatabase(retention.pool, "retention")).pooler;
    } catch (error) {
      throw withHint(error, retentionVariable(environment));
    }
  }
}

/** Connections that all pools of a worker may take, on whatever server they are. */
function ownConnections(
  { REDIS_URL }: StoreUrls,
  pools: readonly (ConnectedLedger["pool"] | undefined)[],
): number {
  const ofQueues = REDIS_URL === undefined ? connectionsWanted("worker") : 0;
  return pools.reduce((sum, pool) => sum + (pool?.options.max ?? 0), ofQueues);
}

/** Says who takes the connections of Postgres, once all pools of this process hold one. */
async function reportConnections(
  { pool }: Pick<ConnectedLedger, "pool">,
  own: number,
  watch: StoreWatch,
): Promise<void> {
  const use = await readConnectionUse(pool);
  watch.onConnections?.(use, own);
  const finding = connectionFinding(use);
  if (finding !== undefined) watch.onFinding?.(finding);
}

/** A second pool for a worker's retention, by a login that may delete or past a pooler. */
function connectRetention(
  environment: StoreUrls,
  { onError }: StoreWatch,
): ConnectedLedger | undefined {
  const variable = retentionVariable(environment);
  const url = environment[variable];
  if (url === undefined || variable === "DATABASE_URL") return undefined;
  return connectLedger({
    url,
    max: retentionConnections,
    applicationName: "millrace-retention",
    onError: (error) => onError?.("postgres", error),
  });
}

function retentionVariable({ RETENTION_DATABASE_URL, DATABASE_SESSION_URL }: StoreUrls) {
  if (RETENTION_DATABASE_URL !== undefined) return "RETENTION_DATABASE_URL";
  return DATABASE_SESSION_URL === undefined ? "DATABASE_URL" : "DATABASE_SESSION_URL";
}

function connectionsMax(role: FullRole, { worker }: Config): number {
  if (role === "worker") return workerConnections(worker.concurrency);
  return role === "dashboard" ? dashboardConnections : cliConnections;
}

function workerOptions({ worker, retention, schema }: Config, watch: StoreWatch): LedgerOptions {
  return { ...worker, keysDays: retention.keysDays, schema, onReset: watch.onConnectionReset };
}

/**
 * The URL of the ledger's Postgres.
 *
 * @throws `invalid_config` when it is not set.
 */
export function requireDatabase({ DATABASE_URL }: StoreUrls, role: FullRole): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new MillraceError(
    "invalid_config",
    `Cannot start the ${role}: DATABASE_URL is not set. Set it to the ledger's Postgres, such as` +
      " postgres://user:password@127.0.0.1:5432/app, or run `millrace start`, which brings its own",
  );
}
