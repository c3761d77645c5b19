import { hostname } from "node:os";
import {
  hasCode,
  MillraceError,
  withHint,
  withUrl,
  sourceRules,
  type Config,
  type EventKey,
  type EventLookup,
  type IncomingEvent,
} from "@millrace/core";
import {
  createDeliveryCounter,
  createLedgerStore,
  createQueueStore,
  createRefusalCounter,
  storeTimeoutMs,
  type ClosableEventStore,
  type QueueClient,
  type RedeliveryPort,
} from "@millrace/intake";
import type { Ledger } from "@millrace/ledger";
import { retryDelivered } from "@millrace/operations";
import type { JobOwner, Pressure, Queues } from "@millrace/queue";
import { retryUntilAvailable } from "@millrace/service";
import { checkDatabase, settingFindings } from "./check-database.ts";
import { ingressConnections } from "./connection-budget.ts";
import { connectLedger, type ConnectedLedger } from "./open-ledger.ts";
import {
  openQueues,
  queueKeys,
  withAwayLog,
  type StoreUrls,
  type StoreWatch,
} from "./open-queues.ts";
import { watchJobOwner } from "./queue-owner.ts";

const CONNECTION_TIMEOUT_MS = 800;
/** A queue that takes longer is down and probed, also where there is no other store. */
const ENQUEUE_TIMEOUT_MS_MAX = 800;
const CLOSE_TIMEOUT_MS = 2_000;

type StoreName = "queue" | "ledger";

/**
 * Events go to the store that is open, and are answered 503 while there is none. Returns at once;
 * the caller closes them.
 * @throws `queue_key_missing`; `invalid_config` when the environment names neither server
 */
export function openIngress(urls: StoreUrls, config: Config, given: StoreWatch) {
  queueKeys(urls);
  const { REDIS_URL, DATABASE_URL } = requireStore(urls);
  const watch = withAwayLog(given);
  const { onIntakeNotice: notify } = watch;
  // Events of a source without a URL come from handlers, and never through an ingress.
  const sources = withUrl(config.sources);
  const timeoutMs = storeTimeoutMs(config.ingress, REDIS_URL && DATABASE_URL ? 2 : 1);
  const postgres = DATABASE_URL ? connectPostgres(DATABASE_URL) : undefined;
  const closing = new AbortController();
  const { signal } = closing;
  let queues: Queues | undefined;
  let foreign: MillraceError | undefined;
  let ledger: Ledger | undefined;
  let readOnly: MillraceError | undefined;

  function connectPostgres(url: string): ConnectedLedger {
    const pool = { url, max: ingressConnections, connectionTimeoutMs: CONNECTION_TIMEOUT_MS };
    return connectLedger({ ...pool, applicationName: "millrace-ingress" }, watch, {
      statementTimeoutMs: timeoutMs,
      ...sourceRules(sources),
    });
  }

  function open(name: StoreName, openStore: () => Promise<void>) {
    let onFirstTry = () => {};
    const triedOnce = new Promise<void>((resolve) => (onFirstTry = resolve));
    const onAway = (error: unknown) => {
      readOnly = hasCode(error, "database_read_only") ? error : undefined;
      watch.onAway?.(name, withHint(error));
      onFirstTry();
    };
    const isAway = (error: unknown) => hasCode(error, "queue_unclaimed");
    const waiting = { signal, onAway, isAway };
    const opened = retryUntilAvailable(openStore, waiting).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return { tried: Promise.race([triedOnce, opened]), opened };
  }

  async function openQueue(): Promise<void> {
    const names = Object.keys(sources);
    const owner: JobOwner = {};
    const enqueueTimeoutMs = Math.min(timeoutMs, ENQUEUE_TIMEOUT_MS_MAX);
    const settings = { enqueueTimeoutMs, replicas: config.queue.replicas, owner };
    const opening = await openQueues(urls, { role: "ingress", sources: names, ...settings }, watch);
    const repair = postgres?.ledger.repair;
    const owned = { queues: opening, sources: names, repair, owner, signal, onForeign: setForeign };
    try {
      if (opening.backend === "redis") await watchJobOwner(owned);
    } catch (error) {
      await opening.close();
      throw error;
    }
    queues = opening;
  }

  function setForeign(reason: string | undefined): void {
    if (reason === undefined) foreign = undefined;
    if (reason === undefined || foreign !== undefined) return;
    foreign = new MillraceError("unavailable", `Cannot use the queue: ${reason}`);
    watch.onError?.("queue: in use", foreign);
  }

  async function openLedger(connected: ConnectedLedger): Promise<void> {
    const { facts } = await checkDatabase(connected.pool, "ingress");
    for (const finding of settingFindings(facts)) watch.onFinding?.(finding);
    if (REDIS_URL === undefined) {
      // Opening these may write.
      await connected.ledger.intake.ping();
      await openQueue();
    }
    ledger = connected.ledger;
  }

  function requireQueues(): Queues {
    if (foreign !== undefined) throw foreign;
    if (queues !== undefined) return queues;
    throw notOpen("queue");
  }

  function requireLedger(): Ledger {
    if (ledger !== undefined) return ledger;
    throw readOnly ?? notOpen("ledger");
  }

  const pressure = (): Pressure => queues?.pressure() ?? NO_PRESSURE;
  const queue: QueueClient = {
    enqueue: async (events, options) => await requireQueues().enqueue(events, options),
    ping: async () => await requireQueues().ping(),
    pressure,
    get breaker() {
      return queues?.breaker ?? NOT_OPEN;
    },
  };
  // Calls that are not checked here follow on `accept`, or write notes that can be lost.
  const intake: Ledger["intake"] | undefined = postgres && {
    ...postgres.ledger.intake,
    accept: async (events) => await requireLedger().intake.accept(events),
    areNotCompleted: async (events) => await requireLedger().intake.areNotCompleted(events),
    ping: async () => await requireLedger().intake.ping(),
  };
  const deliveries =
    intake &&
    createDeliveryCounter(intake, {
      ingress: hostname(),
      onLost: (lost, error) => notify?.({ kind: "deliveries_unnoted", deliveries: lost, error }),
    });
  const refusals = intake && createRefusalCounter(intake);
  const shared = { queue, sources, deliveries };
  const eventStores: readonly ClosableEventStore[] = [
    ...(REDIS_URL ? [createQueueStore({ ...shared, ledger: intake })] : []),
    ...(intake ? [createLedgerStore({ ...shared, ledger: intake, notify })] : []),
  ];
  const openings = [
    ...(REDIS_URL ? [open("queue", openQueue)] : []),
    ...(postgres ? [open("ledger", () => openLedger(postgres))] : []),
  ];
  const tried = Promise.all(openings.map((opening) => opening.tried));
  const opened = Promise.all(openings.map((opening) => opening.opened));
  for (const promise of [tried, opened]) promise.catch(() => {});

  /** The latest generation, for the sender knows of no replay. */
  async function retry(event: IncomingEvent): Promise<"retried" | "not_needed"> {
    const opening = requireQueues();
    // Without Postgres, the worker's record makes the row pending again when the job comes.
    const answer =
      postgres === undefined
        ? await opening.retryJob(await latestJob(opening, event))
        : (await retryDelivered({ ledger: requireLedger(), queues: opening }, event)).kind;
    return answer === "retried" ? "retried" : "not_needed";
  }
  const redelivery: RedeliveryPort = { retry, areNotCompleted: intake?.areNotCompleted };

  return {
    ...{ eventStores, redelivery },
    /** Undefined without Postgres: nothing counts what is refused then. */
    refusals,
    /** The load of the queue; a queue that is not open is empty. */
    pressure,
    /** Resolves when each server was tried once, also if it is away. Rejects as `opened`. */
    tried,
    /**
     * Resolves when every store is open, or closed before. Rejects with `redis_topology`,
     * `redis_evicts`, `redis_volatile`, `queue_in_use`, `migration_needed`, `migration_changed`,
     * `migration_unknown`, `postgres_too_old`, `unsupported_isolation`, `missing_rights` or
     * `session_needed`, which waiting does not solve.
     */
    opened,
    close: async (): Promise<void> => {
      const counters = [deliveries, refusals];
      const closed = [...eventStores, ...counters].map(
        async (each) => await each?.close(CLOSE_TIMEOUT_MS),
      );
      await Promise.all(closed);
      closing.abort();
      await Promise.allSettled([opened]);
      await queues?.close();
      await postgres?.close();
    },
  };
}

/** A queue that is not open takes nothing. No probe finds that it has opened. */
const NOT_OPEN = { isOpen: true, trip: () => {} };

const NO_PRESSURE: Pressure = {
  memoryShare: undefined,
  of: () => ({ depth: 0, oldestAgeMs: undefined }),
};

// Where the queue has forgotten a later completed one, the worker's record leaves the event alone.
async function latestJob(queues: Queues, { source, eventId }: EventLookup): Promise<EventKey> {
  for (let generation = 0; ; generation += 1) {
    const next = { source, eventId, generation: generation + 1 };
    if ((await queues.findJob(next)) === undefined) return { source, eventId, generation };
  }
}

function notOpen(name: StoreName): MillraceError {
  return new MillraceError("unavailable", `Cannot reach the ${name}: not connected yet`);
}

function requireStore(urls: StoreUrls): StoreUrls {
  if (urls.REDIS_URL !== undefined || urls.DATABASE_URL !== undefined) return urls;
  throw new MillraceError(
    "invalid_config",
    "Cannot start the ingress: neither REDIS_URL nor DATABASE_URL is set. Set REDIS_URL, such as" +
      " redis://127.0.0.1:6379, or run `millrace start`, which brings a Postgres of its own",
  );
}
