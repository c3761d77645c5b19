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
  given: StoreWatch = {},
): Opening<WorkerStores> {
  const watch = withAwayLog(given);
  const { worker, retention, schema, sources } = config;
  const rules = sourceRules(sources);
  const options = { ...worker, ...rules, keysDays: retention.keysDays, schema };
  const postgres = connectRole("worker", environment, watch, {
    max: workerConnections(worker.concurrency),
    options: { ...options, onReset: watch.onConnectionReset },
  });
  const aside = connectRetention(environment, watch);
  const parts = new OpenParts("worker", aside === undefined ? [postgres] : [postgres, aside]);
  return parts.opening(openWorkerStores({ environment, config, watch, postgres, aside, parts }));
}

/** Tries again while Postgres is away. @throws as `openWorker` */
export function openDashboard(
  environment: StoreUrls,
  config: Config,
  given: StoreWatch = {},
): Opening {
  const watch = withAwayLog(given);
  const postgres = connectRole("dashboard", environment, watch, { max: dashboardConnections });
  const parts = new OpenParts("dashboard", [postgres]);
  const waiting = parts.waiting(watch, "ledger");
  const checked = retryUntilAvailable(() => checkDatabase(postgres.pool, "dashboard"), waiting);
  return parts.opening(openAtOnce({ environment, config, watch, postgres, parts }, checked));
}

/** `opened` rejects at once while a server is away. @throws as `openWorker` */
export function openCommand(environment: StoreUrls, config: Config): Opening {
  const postgres = connectRole("cli", environment, {}, { max: cliConnections });
  const parts = new OpenParts("cli", [postgres]);
  const checked = checkLedger(postgres);
  return parts.opening(openAtOnce({ environment, config, watch: {}, postgres, parts }, checked));
}

/** Connects a role to its ledger. A missing key of jobs is reported first. */
function connectRole(
  role: FullRole,
  environment: StoreUrls,
  { onError }: StoreWatch,
  { max, options = {} }: { readonly max: number; readonly options?: LedgerOptions },
): ConnectedLedger {
  queueKeys(environment);
  const url = requireDatabase(environment, role);
  const applicationName = `millrace-${role}`;
  return connectLedger(
    { url, max, applicationName, onError: (error) => onError?.("postgres", error) },
    options,
  );
}

interface Connected {
  readonly environment: StoreUrls;
  readonly config: Config;
  readonly watch: StoreWatch;
  readonly postgres: ConnectedLedger;
  readonly parts: OpenParts;
}

interface ConnectedWorker extends Connected {
  readonly aside: ConnectedLedger | undefined;
}

async function openAtOnce(
  { environment, config, watch, postgres, parts }: Connected,
  checked: Promise<unknown>,
): Promise<Stores> {
  await checked;
  // Opening queues on Postgres may write.
  if (environment.REDIS_URL === undefined) await postgres.ledger.reads.ping();
  const sources = Object.keys(config.sources);
  const owner: JobOwner = {};
  const settings = { role: parts.role, sources, owner };
  const queues = await parts.addQueues(await openQueues(environment, settings, watch));
  if (queues.backend === "redis") {
    const identity = await postgres.ledger.repair.readIdentity();
    owner.ledger = identity.ledger;
    // While Redis is away, the ledger is shown.
    const requireOwn = () =>
      findJobOwner(queues, sources, identity).catch(throwIf("queue_in_use", "queue_unclaimed"));
    const isAway = (error: unknown) =>
      parts.role === "dashboard" && hasCode(error, "queue_unclaimed");
    await retryUntilAvailable(requireOwn, parts.waiting(watch, "queue", isAway));
  }
  return { pool: postgres.pool, ledger: postgres.ledger, queues };
}

async function openWorkerStores(connected: ConnectedWorker): Promise<WorkerStores> {
  const { environment, config, watch, postgres, aside, parts } = connected;
  const { pool, ledger } = postgres;
  const [forLedger, forQueue] = [parts.waiting(watch, "ledger"), parts.waiting(watch, "queue")];
  await retryUntilAvailable(() => checkForWorker(connected), forLedger);
  const signs = queueKeys(environment) !== undefined;
  const isOnRedis = environment.REDIS_URL !== undefined;
  const identity = await retryUntilAvailable(
    () => requireIdentity(ledger.repair, { signs, isOnRedis }),
    forLedger,
  );
  const sources = Object.keys(config.sources);
  const settings = { role: "worker", sources, owner: { ledger: identity.ledger } } as const;
  const queues = await parts.addQueues(
    await retryUntilAvailable(() => openQueues(environment, settings, watch), forQueue),
  );
  const claim = new QueueClaim({
    ...{ queues, repair: ledger.repair, identity, sources, signs, signal: parts.signal },
    onTakenOver: (source, { ledger: was }) =>
      watch.onFinding?.({
        detail: `the queue of source "${source}" was the ledger ${was}'s, whose workers are gone`,
        fix: "Jobs that are for that ledger wait for its workers",
      }),
    onLost: (error) => watch.onLost?.(error),
  });
  if (isOnRedis) await retryUntilAvailable(() => claim.take(), forQueue);
  const own = ownConnections(environment, [pool, aside?.pool]);
  await retryUntilAvailable(() => reportConnections(postgres, own, watch), forLedger);
  const releaseQueues = () => claim.release();
  return { pool, retentionPool: aside?.pool ?? pool, ledger, queues, releaseQueues };
}

class OpenParts {
  readonly role: FullRole;
  readonly #ledgers: readonly ConnectedLedger[];
  readonly #closing = new AbortController();
  #queues: Queues | undefined;

  constructor(role: FullRole, ledgers: readonly ConnectedLedger[]) {
    this.role = role;
    this.#ledgers = ledgers;
  }

  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  waiting({ onAway }: StoreWatch, store: "ledger" | "queue", isAway = isDatabaseUnavailable) {
    const tell = (error: unknown) => onAway?.(store, withHint(error));
    return { signal: this.signal, isAway, onAway: tell };
  }

  opening<Opened extends Stores>(opened: Promise<Opened>): Opening<Opened> {
    opened.catch(() => {});
    return { opened, close: () => this.#close() };
  }

  /** Keeps queues to close them later; closes them now if the role closed meanwhile. */
  async addQueues(queues: Queues): Promise<Queues> {
    if (this.signal.aborted) {
      await queues.close();
      throw this.signal.reason;
    }
    this.#queues = queues;
    return queues;
  }

  async #close(): Promise<void> {
    const message = `Cannot continue: the ${this.role} is closing`;
    this.#closing.abort(new MillraceError("shutting_down", message));
    await this.#queues?.close();
    await Promise.all(this.#ledgers.map((ledger) => ledger.close()));
  }
}

/** No pooler can share the connections of the retention, which needs a session. */
async function checkForWorker({
  environment,
  config,
  watch,
  postgres,
  aside: retention,
}: ConnectedWorker): Promise<void> {
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
  await checkConnections(pool, config, { queuesOnPostgres });
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

/** @throws `invalid_config` when it is not set */
export function requireDatabase({ DATABASE_URL }: StoreUrls, role: FullRole): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new MillraceError(
    "invalid_config",
    `Cannot start the ${role}: DATABASE_URL is not set. Set it to the ledger's Postgres, such as` +
      " postgres://user:password@127.0.0.1:5432/app, or run `millrace start`, which brings its own",
  );
}
