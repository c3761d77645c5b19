import { MillraceError, type Config, type EventKey, type EventLookup } from "@millrace/core";
import {
  createLedgerStore,
  createQueueStore,
  storeTimeoutMs,
  type ClosableEventStore,
  type QueueClient,
  type RedeliveryPort,
} from "@millrace/intake";
import { checkSchema, type Ledger } from "@millrace/ledger";
import { retryEvent } from "@millrace/operations";
import type { Pressure, Queues } from "@millrace/queue";
import { retryUntilAvailable } from "@millrace/service";
import { ingressConnections } from "./connection-budget.ts";
import { connectLedger, type ConnectedLedger } from "./open-ledger.ts";
import { openQueues, type StoreUrls, type StoreWatch } from "./open-queues.ts";

/** Milliseconds that a delivery waits for a connection of the pool. */
const CONNECTION_TIMEOUT_MS = 800;
/** A queue that takes longer is down and probed, also where there is no other store. */
const ENQUEUE_TIMEOUT_MS_MAX = 800;
/** Milliseconds that the enqueueing of what was acknowledged may take at the end. */
const CLOSE_TIMEOUT_MS = 2_000;

type StoreName = "queue" | "ledger";

/**
 * Where an ingress keeps events: the queue on Redis, the ledger on Postgres, or both. They are opened
 * side by side, again and again while a server is away. The ingress listens meanwhile: events go to the
 * store that is open, and are answered 503 while there is none.
 */
export class IngressStores {
  /** They throw `unavailable` until their server has been checked. */
  readonly eventStores: readonly ClosableEventStore[];
  readonly redelivery: RedeliveryPort;
  /** Resolves when each server was tried once, also if it is away. Rejects as `opened`. */
  readonly tried: Promise<unknown>;
  /** Resolves when every store is open, or closed before. Rejects with `redis_evicts`, `redis_volatile`,
   * `migration_needed`, `migration_changed` or `migration_unknown`, which waiting does not solve. */
  readonly opened: Promise<unknown>;
  readonly #urls: StoreUrls;
  readonly #config: Config;
  readonly #watch: StoreWatch;
  /** Milliseconds that a store has for a delivery. */
  readonly #timeoutMs: number;
  readonly #closing = new AbortController();
  readonly #postgres: ConnectedLedger | undefined;
  /** Undefined until it is open. */
  #queues: Queues | undefined;
  /** Undefined until its schema has been checked. */
  #ledger: Ledger | undefined;

  /** @throws `invalid_config` when the environment names neither server. */
  constructor(urls: StoreUrls, config: Config, watch: StoreWatch) {
    const { REDIS_URL, DATABASE_URL } = requireStore(urls);
    this.#urls = urls;
    this.#config = config;
    this.#watch = watch;
    this.#timeoutMs = storeTimeoutMs(config.ingress, REDIS_URL && DATABASE_URL ? 2 : 1);
    this.#postgres = DATABASE_URL ? this.#connectLedger(DATABASE_URL) : undefined;
    const queue = this.#queueClient();
    const { sources } = config;
    const { onIntakeNotice: notify } = watch;
    const ledger = this.#postgres && this.#ledgerClient(this.#postgres.ledger);
    this.eventStores = [
      ...(REDIS_URL
        ? [createQueueStore({ queue, sources, ...(ledger && { conflicts: ledger }) })]
        : []),
      ...(ledger ? [createLedgerStore({ ledger, queue, sources, ...(notify && { notify }) })] : []),
    ];
    this.redelivery = { retry: (event) => this.#retry(event) };
    const openings = [
      ...(REDIS_URL ? [this.#open("queue", () => this.#openQueues())] : []),
      ...(this.#postgres ? [this.#open("ledger", () => this.#openLedger())] : []),
    ];
    this.tried = Promise.all(openings.map(({ tried }) => tried));
    this.opened = Promise.all(openings.map(({ opened }) => opened));
    // The caller waits for one after the other, or closes at once.
    for (const promise of [this.tried, this.opened]) promise.catch(() => {});
  }

  /** How full the queue is; nothing waits in one that is not open. */
  pressure(): Pressure {
    return this.#queues?.pressure() ?? NO_PRESSURE;
  }

  /** Does what was left for later, for a moment, and disconnects. */
  async close(): Promise<void> {
    await Promise.all(this.eventStores.map((store) => store.close(CLOSE_TIMEOUT_MS)));
    this.#closing.abort();
    await Promise.allSettled([this.opened]);
    await this.#queues?.close();
    await this.#postgres?.close();
  }

  #connectLedger(url: string): ConnectedLedger {
    return connectLedger(
      {
        url,
        max: ingressConnections,
        applicationName: "millrace-ingress",
        connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
        onError: (error) => this.#watch.onError?.("postgres", error),
      },
      { statementTimeoutMs: this.#timeoutMs },
    );
  }

  /** Begins to open a store. The first delivery is to find it open, so `tried` waits for the first try. */
  #open(name: StoreName, open: () => Promise<void>) {
    let onFirstTry = () => {};
    const triedOnce = new Promise<void>((resolve) => (onFirstTry = resolve));
    const { signal } = this.#closing;
    const onAway = (error: unknown) => {
      this.#watch.onAway?.(name, error);
      onFirstTry();
    };
    const opened = retryUntilAvailable(open, { signal, onAway }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return { tried: Promise.race([triedOnce, opened]), opened };
  }

  async #openQueues(): Promise<void> {
    const sources = Object.keys(this.#config.sources);
    const enqueueTimeoutMs = Math.min(this.#timeoutMs, ENQUEUE_TIMEOUT_MS_MAX);
    const settings = { role: "ingress", sources, enqueueTimeoutMs } as const;
    this.#queues = await openQueues(this.#urls, settings, this.#watch);
  }

  /** Opens the ledger and, where there is no Redis, the queues on its Postgres. */
  async #openLedger(): Promise<void> {
    if (this.#postgres === undefined) return;
    await checkSchema(this.#postgres.pool);
    if (this.#urls.REDIS_URL === undefined) await this.#openQueues();
    this.#ledger = this.#postgres.ledger;
  }

  #queueClient(): QueueClient & Pick<Queues, "breaker"> {
    const breaker = () => this.#queues?.breaker ?? NOT_OPENED;
    return {
      enqueue: async (events, options) => await this.#requireQueues().enqueue(events, options),
      ping: async () => await this.#requireQueues().ping(),
      pressure: () => this.pressure(),
      get breaker() {
        return breaker();
      },
    };
  }

  /** What is not checked here follows on `accept`, or is a note that may be lost. */
  #ledgerClient({ intake }: Ledger): Ledger["intake"] {
    return {
      ...intake,
      accept: async (events) => await this.#requireLedger().intake.accept(events),
      ping: async () => await this.#requireLedger().intake.ping(),
    };
  }

  /** The latest generation, for the sender knows of no replay. */
  async #retry({ source, eventId }: EventLookup): Promise<"retried" | "not_needed"> {
    const queues = this.#requireQueues();
    if (this.#postgres === undefined) {
      // The worker's record makes the row pending again when the job comes.
      const answer = await queues.retryJob(await latestJob(queues, { source, eventId }));
      return answer === "retried" ? "retried" : "not_needed";
    }
    const deps = { ledger: this.#requireLedger(), queues };
    const { kind } = await retryEvent(deps, { source, eventId });
    return kind === "retried" ? "retried" : "not_needed";
  }

  #requireQueues(): Queues {
    return this.#queues ?? notOpen("queue");
  }

  #requireLedger(): Ledger {
    return this.#ledger ?? notOpen("ledger");
  }
}

// What is not open takes nothing; that it is open is seen without a probe.
const NOT_OPENED = { isOpen: true, trip: () => {} };

const NO_PRESSURE: Pressure = {
  memoryShare: undefined,
  of: () => ({ depth: 0, oldestAgeMs: undefined }),
};

/** An event's latest generation that the queue has a job of. Where it has forgotten a later one that completed,
 * the worker's record leaves the event alone. */
async function latestJob(queues: Queues, { source, eventId }: EventLookup): Promise<EventKey> {
  for (let generation = 0; ; generation += 1) {
    const next = { source, eventId, generation: generation + 1 };
    if ((await queues.findJob(next)) === undefined) return { source, eventId, generation };
  }
}

function notOpen(name: StoreName): never {
  throw new MillraceError("unavailable", `Cannot reach the ${name}: not connected yet`);
}

function requireStore(urls: StoreUrls): StoreUrls {
  if (urls.REDIS_URL !== undefined || urls.DATABASE_URL !== undefined) return urls;
  throw new MillraceError(
    "invalid_config",
    "Cannot start the ingress: neither REDIS_URL nor DATABASE_URL is set. Set REDIS_URL, such as" +
      " redis://127.0.0.1:6379, or run `millrace start`, which brings a Postgres of its own",
  );
}
