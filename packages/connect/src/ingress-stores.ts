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
  type DeliveryCounter,
  type QueueClient,
  type RedeliveryPort,
  type RefusalCounter,
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

/** Returns at once; the caller closes them. @throws `invalid_config`, `queue_key_missing` */
export function openIngress(
  environment: StoreUrls,
  config: Config,
  watch: StoreWatch,
): IngressStores {
  queueKeys(environment);
  return new IngressStores(environment, config, withAwayLog(watch));
}

/** Events go to the store that is open, and are answered 503 while there is none. */
export class IngressStores {
  readonly eventStores: readonly ClosableEventStore[];
  readonly redelivery: RedeliveryPort;
  /** Undefined without Postgres: nothing counts what is refused then. */
  readonly refusals: RefusalCounter | undefined;
  /** Resolves when each server was tried once, also if it is away. Rejects as `opened`. */
  readonly tried: Promise<unknown>;
  /**
   * Resolves when every store is open, or closed before. Rejects with `redis_topology`,
   * `redis_evicts`, `redis_volatile`, `queue_in_use`, `migration_needed`, `migration_changed`,
   * `migration_unknown`, `postgres_too_old`, `unsupported_isolation`, `missing_rights` or
   * `session_needed`, which waiting does not solve.
   */
  readonly opened: Promise<unknown>;
  readonly #urls: StoreUrls;
  readonly #config: Config;
  readonly #watch: StoreWatch;
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  readonly #postgres: ConnectedLedger | undefined;
  readonly #deliveries: DeliveryCounter | undefined;
  #queues: Queues | undefined;
  #foreign: MillraceError | undefined;
  #ledger: Ledger | undefined;
  #readOnly: MillraceError | undefined;

  /** @throws `invalid_config` when the environment names neither server. */
  constructor(urls: StoreUrls, config: Config, watch: StoreWatch) {
    const { REDIS_URL, DATABASE_URL } = requireStore(urls);
    this.#urls = urls;
    // Events of a source without a URL come from handlers, and never through an ingress.
    this.#config = { ...config, sources: withUrl(config.sources) };
    this.#watch = watch;
    this.#timeoutMs = storeTimeoutMs(config.ingress, REDIS_URL && DATABASE_URL ? 2 : 1);
    this.#postgres = DATABASE_URL ? this.#connectLedger(DATABASE_URL) : undefined;
    const queue = this.#queueClient();
    const { sources } = this.#config;
    const { onIntakeNotice: notify } = watch;
    const ledger = this.#postgres && this.#ledgerClient(this.#postgres.ledger);
    this.#deliveries =
      ledger &&
      createDeliveryCounter(ledger, {
        ingress: hostname(),
        onLost: (deliveries, error) => notify?.({ kind: "deliveries_unnoted", deliveries, error }),
      });
    this.refusals = ledger && createRefusalCounter(ledger);
    const shared = { queue, sources, deliveries: this.#deliveries };
    this.eventStores = [
      ...(REDIS_URL ? [createQueueStore({ ...shared, ...(ledger && { ledger }) })] : []),
      ...(ledger ? [createLedgerStore({ ...shared, ledger, ...(notify && { notify }) })] : []),
    ];
    this.redelivery = {
      retry: (event) => this.#retry(event),
      areNotCompleted: ledger && ((events) => this.#requireLedger().intake.areNotCompleted(events)),
    };
    const openings = [
      ...(REDIS_URL ? [this.#open("queue", () => this.#openQueues())] : []),
      ...(this.#postgres ? [this.#open("ledger", () => this.#openLedger())] : []),
    ];
    this.tried = Promise.all(openings.map(({ tried }) => tried));
    this.opened = Promise.all(openings.map(({ opened }) => opened));
    for (const promise of [this.tried, this.opened]) promise.catch(() => {});
  }

  /** The load of the queue; a queue that is not open is empty. */
  pressure(): Pressure {
    return this.#queues?.pressure() ?? NO_PRESSURE;
  }

  async close(): Promise<void> {
    const closed = this.eventStores.map((store) => store.close(CLOSE_TIMEOUT_MS));
    await Promise.all([
      ...closed,
      this.#deliveries?.close(CLOSE_TIMEOUT_MS),
      this.refusals?.close(CLOSE_TIMEOUT_MS),
    ]);
    this.#closing.abort();
    await Promise.allSettled([this.opened]);
    await this.#queues?.close();
    await this.#postgres?.close();
  }

  #connectLedger(url: string): ConnectedLedger {
    const pool = { url, max: ingressConnections, connectionTimeoutMs: CONNECTION_TIMEOUT_MS };
    return connectLedger({ ...pool, applicationName: "millrace-ingress" }, this.#watch, {
      statementTimeoutMs: this.#timeoutMs,
      ...sourceRules(this.#config.sources),
    });
  }

  #open(name: StoreName, open: () => Promise<void>) {
    let onFirstTry = () => {};
    const triedOnce = new Promise<void>((resolve) => (onFirstTry = resolve));
    const { signal } = this.#closing;
    const onAway = (error: unknown) => {
      this.#readOnly = hasCode(error, "database_read_only") ? error : undefined;
      this.#watch.onAway?.(name, withHint(error));
      onFirstTry();
    };
    const isAway = (error: unknown) => hasCode(error, "queue_unclaimed");
    const opened = retryUntilAvailable(open, { signal, onAway, isAway }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return { tried: Promise.race([triedOnce, opened]), opened };
  }

  async #openQueues(): Promise<void> {
    const sources = Object.keys(this.#config.sources);
    const enqueueTimeoutMs = Math.min(this.#timeoutMs, ENQUEUE_TIMEOUT_MS_MAX);
    const { replicas } = this.#config.queue;
    const owner: JobOwner = {};
    const settings = { role: "ingress", sources, enqueueTimeoutMs, replicas, owner } as const;
    const queues = await openQueues(this.#urls, settings, this.#watch);
    try {
      if (queues.backend === "redis") {
        await watchJobOwner({
          ...{ queues, sources, owner, signal: this.#closing.signal },
          repair: this.#postgres?.ledger.repair,
          onForeign: (reason) => this.#setForeign(reason),
        });
      }
    } catch (error) {
      await queues.close();
      throw error;
    }
    this.#queues = queues;
  }

  #setForeign(reason: string | undefined): void {
    if (reason === undefined) this.#foreign = undefined;
    if (reason === undefined || this.#foreign !== undefined) return;
    this.#foreign = new MillraceError("unavailable", `Cannot use the queue: ${reason}`);
    this.#watch.onError?.("queue: in use", this.#foreign);
  }

  async #openLedger(): Promise<void> {
    if (this.#postgres === undefined) return;
    const { facts } = await checkDatabase(this.#postgres.pool, "ingress");
    for (const finding of settingFindings(facts)) this.#watch.onFinding?.(finding);
    if (this.#urls.REDIS_URL === undefined) {
      // Opening these may write.
      await this.#postgres.ledger.intake.ping();
      await this.#openQueues();
    }
    this.#ledger = this.#postgres.ledger;
  }

  #queueClient(): QueueClient & Pick<Queues, "breakerOf"> {
    return {
      enqueue: async (events, options) => await this.#requireQueues().enqueue(events, options),
      ping: async () => await this.#requireQueues().ping(),
      pressure: () => this.pressure(),
      // A queue that is not open takes nothing. No probe finds that it has opened.
      breakerOf: (source) => this.#queues?.breakerOf(source) ?? { isOpen: true, trip: () => {} },
    };
  }

  /** Calls that are not checked here follow on `accept`, or write notes that can be lost. */
  #ledgerClient({ intake }: Ledger): Ledger["intake"] {
    return {
      ...intake,
      accept: async (events) => await this.#requireLedger().intake.accept(events),
      ping: async () => await this.#requireLedger().intake.ping(),
    };
  }

  /** The latest generation, for the sender knows of no replay. */
  async #retry(event: IncomingEvent): Promise<"retried" | "not_needed"> {
    const queues = this.#requireQueues();
    // Without Postgres, the worker's record makes the row pending again when the job comes.
    const answer =
      this.#postgres === undefined
        ? await queues.retryJob(await latestJob(queues, event))
        : (await retryDelivered({ ledger: this.#requireLedger(), queues }, event)).kind;
    return answer === "retried" ? "retried" : "not_needed";
  }

  #requireQueues(): Queues {
    if (this.#foreign !== undefined) throw this.#foreign;
    if (this.#queues !== undefined) return this.#queues;
    throw notOpen("queue");
  }

  #requireLedger(): Ledger {
    if (this.#ledger !== undefined) return this.#ledger;
    throw this.#readOnly ?? notOpen("ledger");
  }
}

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
