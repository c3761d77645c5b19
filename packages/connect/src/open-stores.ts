import {
  sourceRules,
  hasCode,
  MillraceError,
  throwIf,
  withHint,
  type Config,
} from "@millrace/core";
import { isDatabaseUnavailable, type LedgerOptions, type Pooler } from "@millrace/ledger";
import { connectionsWanted, type JobOwner, type QueueRole, type Queues } from "@millrace/queue";
import { retryUntilAvailable } from "@millrace/service";
import {
  checkDatabase,
  horizonFindings,
  retentionFinding,
  settingFindings,
} from "./check-database.ts";
import {
  checkConnections,
  cliConnections,
  connectionFinding,
  dashboardConnections,
  readConnectionUse,
  retentionConnections,
  workerConnections,
} from "./connection-budget.ts";
import { checkLedger, connectLedger, sessionNeeded, type ConnectedLedger } from "./open-ledger.ts";
import {
  openQueues,
  queueKeys,
  withAwayLog,
  type StoreUrls,
  type StoreWatch,
} from "./open-queues.ts";
import { findJobOwner, QueueClaim, requireIdentity } from "./queue-owner.ts";

export interface Stores extends Pick<ConnectedLedger, "pool" | "ledger"> {
  readonly queues: Queues;
}

export interface WorkerStores extends Stores {
  /** Deletes old data: `RETENTION_DATABASE_URL`, `DATABASE_SESSION_URL`, or `pool`. */
  readonly retentionPool: ConnectedLedger["pool"];
  /** Lets another ledger take the queues at once, after the last job. */
  releaseQueues(): Promise<void>;
}

export interface Opening<Opened extends Stores = Stores> {
  /** The stores, once checked. Rejects with `shutting_down` when closed before. */
  readonly opened: Promise<Opened>;
  close(): Promise<void>;
}

type FullRole = Exclude<QueueRole, "ingress">;

/**
 * Opens the stores of a worker, and tries again while a server is away. `opened` rejects with what
 * waiting does not solve: `migration_needed`, `migration_changed`, `migration_unknown`,
 * `postgres_too_old`, `unsupported_isolation`, `missing_rights`, `too_many_connections`,
 * `session_needed`, `redis_topology`, `redis_evicts`, `redis_volatile`, `ledger_moved`,
 * `queue_in_use`, `queue_key_missing`.
 * @throws `invalid_config` without a `DATABASE_URL`; `queue_key_missing`
 */
export function openWorker(
  environment: StoreUrls,
  config: Config,
  watch: StoreWatch = {},
): Opening<WorkerStores> {
  const { worker, retention, schema, sources } = config;
  const rules = { ...sourceRules(sources), keysDays: retention.keysDays, schema };
  const max = workerConnections(worker.concurrency);
  const options = { ...worker, ...rules, onReset: watch.onConnectionReset };
  const role = connectRole("worker", { environment, config, watch }, { max, options });
  return opening(role, openWorkerStores(role));
}

/** Tries again while Postgres is away. @throws as `openWorker` */
export function openDashboard(
  environment: StoreUrls,
  config: Config,
  watch: StoreWatch = {},
): Opening {
  const max = dashboardConnections;
  const options = sourceRules(config.sources);
  const role = connectRole("dashboard", { environment, config, watch }, { max, options });
  const check = () => checkDatabase(role.postgres.pool, "dashboard");
  return opening(role, openAtOnce(role, retryUntilAvailable(check, role.waiting("ledger"))));
}

/** `opened` rejects at once while a server is away. @throws as `openWorker` */
export function openCommand(environment: StoreUrls, config: Config): Opening {
  const role = connectRole("cli", { environment, config, watch: {} }, { max: cliConnections });
  return opening(role, openAtOnce(role, checkLedger(role.postgres)));
}

type Role = ReturnType<typeof connectRole>;

interface Given {
  readonly environment: StoreUrls;
  readonly config: Config;
  readonly watch: StoreWatch;
}

/** Connects a role to its ledger. A missing key of jobs is reported first. */
function connectRole(
  name: FullRole,
  { environment, config, watch: given }: Given,
  { max, options }: { readonly max: number; readonly options?: LedgerOptions },
) {
  queueKeys(environment);
  const watch = withAwayLog(given);
  const pool = { url: requireDatabase(environment, name), applicationName: `millrace-${name}` };
  const postgres = connectLedger({ ...pool, max }, watch, options);
  const retention = name === "worker" ? connectRetention(environment, watch) : undefined;
  const closing = new AbortController();
  const { signal } = closing;
  let queues: Queues | undefined;
  return {
    ...{ name, environment, config, watch, postgres, retention, signal },
    waiting: (store: "ledger" | "queue", isAway = isDatabaseUnavailable) => {
      const onAway = (error: unknown) => watch.onAway?.(store, withHint(error));
      return { signal, isAway, onAway };
    },
    /** Keeps queues to close them later; closes them now if the role closed meanwhile. */
    addQueues: async (opened: Queues): Promise<Queues> => {
      if (signal.aborted) {
        await opened.close();
        throw signal.reason;
      }
      return (queues = opened);
    },
    close: async () => {
      const message = `Cannot continue: the ${name} is closing`;
      closing.abort(new MillraceError("shutting_down", message));
      await queues?.close();
      await Promise.all([postgres.close(), retention?.close()]);
    },
  };
}

function opening<Opened extends Stores>(role: Role, opened: Promise<Opened>): Opening<Opened> {
  opened.catch(() => {});
  return { opened, close: role.close };
}

async function openAtOnce(role: Role, checked: Promise<unknown>): Promise<Stores> {
  const { name, environment, config, watch, postgres } = role;
  await checked;
  // Opening queues on Postgres may write.
  if (environment.REDIS_URL === undefined) await postgres.ledger.reads.ping();
  const sources = Object.keys(config.sources);
  const owner: JobOwner = {};
  const settings = { role: name, sources, owner };
  const queues = await role.addQueues(await openQueues(environment, settings, watch));
  if (queues.backend === "redis") {
    const identity = await postgres.ledger.repair.readIdentity();
    owner.ledger = identity.ledger;
    // While Redis is away, the ledger is shown.
    const requireOwn = () =>
      findJobOwner(queues, sources, identity).catch(throwIf("queue_in_use", "queue_unclaimed"));
    const isAway = (error: unknown) => name === "dashboard" && hasCode(error, "queue_unclaimed");
    await retryUntilAvailable(requireOwn, role.waiting("queue", isAway));
  }
  return { pool: postgres.pool, ledger: postgres.ledger, queues };
}

async function openWorkerStores(role: Role): Promise<WorkerStores> {
  const { environment, config, watch, postgres, retention } = role;
  const { pool, ledger } = postgres;
  const [forLedger, forQueue] = [role.waiting("ledger"), role.waiting("queue")];
  await retryUntilAvailable(() => checkForWorker(role), forLedger);
  const signs = queueKeys(environment) !== undefined;
  const isOnRedis = environment.REDIS_URL !== undefined;
  const identity = await retryUntilAvailable(
    () => requireIdentity(ledger.repair, { signs, isOnRedis }),
    forLedger,
  );
  const sources = Object.keys(config.sources);
  const settings = { role: "worker", sources, owner: { ledger: identity.ledger } } as const;
  const queues = await role.addQueues(
    await retryUntilAvailable(() => openQueues(environment, settings, watch), forQueue),
  );
  const claim = new QueueClaim({
    ...{ queues, repair: ledger.repair, identity, sources, signs, signal: role.signal },
    onTakenOver: (source, { ledger: was }) =>
      watch.onFinding?.({
        detail: `the queue of source "${source}" was the ledger ${was}'s, whose workers are gone`,
        fix: "Jobs that are for that ledger wait for its workers",
      }),
    onLost: (error) => watch.onLost?.(error),
  });
  if (isOnRedis) await retryUntilAvailable(() => claim.take(), forQueue);
  await retryUntilAvailable(() => reportConnections(role), forLedger);
  const releaseQueues = () => claim.release();
  return { pool, retentionPool: retention?.pool ?? pool, ledger, queues, releaseQueues };
}

/** No pooler can share the connections of the retention, which needs a session. */
async function checkForWorker(role: Role): Promise<void> {
  const { environment, config, watch, postgres, retention } = role;
  const { pool } = postgres;
  const { facts, pooler } = await checkDatabase(pool, "worker");
  await postgres.ledger.claims.ping();
  const hasOwnLogin = environment.RETENTION_DATABASE_URL !== undefined;
  const ofRetention =
    retention === undefined ? pooler : await poolerOfRetention(environment, retention);
  if (ofRetention === "transaction") {
    throw sessionNeeded("the retention", retentionVariable(environment));
  }
  const queuesOnPostgres = environment.REDIS_URL === undefined;
  checkConnections(facts, config, { queuesOnPostgres });
  const findings = [...settingFindings(facts, config.worker), ...horizonFindings(config)];
  for (const each of findings) watch.onFinding?.(each);
  const finding = hasOwnLogin ? undefined : await retentionFinding((retention ?? postgres).pool);
  if (finding !== undefined) watch.onFinding?.(finding);
}

async function poolerOfRetention(
  environment: StoreUrls,
  retention: ConnectedLedger,
): Promise<Pooler> {
  try {
    if (environment.RETENTION_DATABASE_URL === undefined) return await checkLedger(retention);
    return (await checkDatabase(retention.pool, "retention")).pooler;
  } catch (error) {
    throw withHint(error, retentionVariable(environment));
  }
}

/** Says who takes the connections of Postgres, once all pools of this process hold one. */
async function reportConnections({ environment, postgres, retention, watch }: Role): Promise<void> {
  const use = await readConnectionUse(postgres.pool);
  const ofQueues = environment.REDIS_URL === undefined ? connectionsWanted("worker") : 0;
  const ofRetention = retention?.pool.options.max ?? 0;
  watch.onConnections?.(use, postgres.pool.options.max + ofRetention + ofQueues);
  const finding = connectionFinding(use);
  if (finding !== undefined) watch.onFinding?.(finding);
}

function connectRetention(environment: StoreUrls, watch: StoreWatch): ConnectedLedger | undefined {
  const variable = retentionVariable(environment);
  const url = environment[variable];
  if (url === undefined || variable === "DATABASE_URL") return undefined;
  const applicationName = "millrace-retention";
  return connectLedger({ url, max: retentionConnections, applicationName }, watch);
}

function retentionVariable({ RETENTION_DATABASE_URL, DATABASE_SESSION_URL }: StoreUrls) {
  if (RETENTION_DATABASE_URL !== undefined) return "RETENTION_DATABASE_URL";
  return DATABASE_SESSION_URL === undefined ? "DATABASE_URL" : "DATABASE_SESSION_URL";
}

/** @throws `invalid_config` when it is not set */
export function requireDatabase({ DATABASE_URL }: StoreUrls, role: FullRole): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new MillraceError(
    "invalid_config",
    `Cannot start the ${role}: DATABASE_URL is not set. Set it to the ledger's Postgres, such as` +
      " postgres://user:password@127.0.0.1:5432/app, or run `millrace start`, which brings its own",
  );
}
