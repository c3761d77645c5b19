import { MillraceError, type Config } from "@millrace/core";
import { checkSchema, isDatabaseUnavailable, type LedgerOptions } from "@millrace/ledger";
import type { QueueRole, Queues } from "@millrace/queue";
import { retryUntilAvailable } from "@millrace/service";
import {
  checkConnections,
  cliConnections,
  dashboardConnections,
  workerConnections,
} from "./connection-budget.ts";
import { IngressStores } from "./ingress-stores.ts";
import { connectLedger, type ConnectedLedger } from "./open-ledger.ts";
import { openQueues, type StoreUrls, type StoreWatch } from "./open-queues.ts";

/** The stores of a worker, a dashboard or a command. */
export interface Stores extends Pick<ConnectedLedger, "pool" | "ledger"> {
  readonly queues: Queues;
}

/** Stores that are being opened. */
export interface Opening {
  /**
   * The stores, once their servers were checked.
   *
   * @throws `migration_needed`, `migration_changed`, `migration_unknown`, `database_unreachable`; in a
   * worker also `too_many_connections`, `redis_evicts`, `redis_volatile`; elsewhere `database_unavailable`
   * and in a command `redis_unreachable`; `shutting_down` when it is closed before.
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
 * @throws `invalid_config` when the environment does not name a server that the role needs.
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
    role === "worker" ? workerOptions(config) : {},
  );
  const closing = new AbortController();
  let queues: Queues | undefined;

  async function open(): Promise<Stores> {
    await step("ledger", () => checkSchema(postgres.pool));
    if (role === "worker") {
      const queuesOnPostgres = environment.REDIS_URL === undefined;
      await step("ledger", () => checkConnections(postgres.pool, config, { queuesOnPostgres }));
    }
    const opened = await step("queue", () => openQueues(environment, { role, sources }, watch));
    if (closing.signal.aborted) {
      await opened.close();
      throw closing.signal.reason;
    }
    queues = opened;
    return { pool: postgres.pool, ledger: postgres.ledger, queues };
  }

  /** Only a worker waits: people see at once what a dashboard or a command cannot reach. */
  function step<T>(name: "ledger" | "queue", work: () => Promise<T>): Promise<T> {
    if (role !== "worker") return work();
    return retryUntilAvailable(work, {
      signal: closing.signal,
      isAway: isDatabaseUnavailable,
      onAway: (error) => watch.onAway?.(name, error),
    });
  }

  const opened = open();
  // The caller may be busy with something else when it rejects.
  opened.catch(() => {});
  return {
    opened,
    close: async () => {
      closing.abort(new MillraceError("shutting_down", `Cannot go on: the ${role} is closing`));
      await queues?.close();
      await postgres.close();
    },
  };
}

function connectionsMax(role: FullRole, { worker }: Config): number {
  if (role === "worker") return workerConnections(worker.concurrency);
  return role === "dashboard" ? dashboardConnections : cliConnections;
}

function workerOptions({ worker, retention }: Config): LedgerOptions {
  return { ...worker, keysDays: retention.keysDays };
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
