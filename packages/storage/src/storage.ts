import { MillraceError } from "@millrace/core";
import {
  createLedgerStore,
  createQueueStore,
  type ClosableEventStore,
  type Notify,
  type RedeliveryPort,
} from "@millrace/intake";
import { retryEvent } from "@millrace/operations";
import type { Pressure, Queues } from "@millrace/queue";
import { lateLedger, lateQueue } from "./late-ports.ts";
import type { PostgresStore } from "./open-postgres.ts";
import type { Opening } from "./patient-store.ts";
import { createStores, type StoresOptions } from "./stores.ts";

export interface StorageOptions extends StoresOptions {
  /** Hears of events that the ledger keeps and the queue was not given. */
  readonly notify: Notify;
}

/** Where events are kept: the queue on Redis, the ledger on Postgres, or both. */
export interface Storage {
  readonly eventStores: readonly ClosableEventStore[];
  readonly redelivery: RedeliveryPort;
  /** How full the queue is; nothing waits in one that is not there. */
  readonly pressure: () => Pressure;
  /** Begins to connect; until then, and while a server is away, its place throws. */
  open(): Opening;
  /** Does what was left for later, for a moment, and disconnects. */
  close(): Promise<void>;
}

/** Milliseconds that the enqueueing of what was acknowledged may take at the end. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Makes the durable places that the environment names. Without Redis the queue stands on Postgres
 * too, and the ledger is the one place.
 *
 * @throws `invalid_config` when it names neither.
 */
export function createStorage(options: StorageOptions): Storage {
  const { redis, postgres } = createStores(options);
  const stores = [redis, postgres].filter((store) => store !== undefined);
  const queues = () => redis?.there().queues ?? withQueues(postgres?.there());
  const queue = lateQueue(queues, () => redis?.store?.queues ?? postgres?.store?.queues);
  const ledger = postgres && lateLedger(() => postgres.there().ledger);
  const { sources } = options.config;
  const { notify } = options;
  const eventStores = [
    ...(redis ? [createQueueStore({ queue, sources, ...(ledger && { conflicts: ledger }) })] : []),
    ...(ledger ? [createLedgerStore({ ledger, queue, sources, notify })] : []),
  ];
  return {
    eventStores,
    redelivery: {
      retry: async (event) => {
        // The worker's record makes the row pending again when the job comes.
        if (postgres === undefined) {
          return (await queues().retryJob(event)) === "retried" ? "retried" : "not_needed";
        }
        const { source, eventId } = event;
        const deps = { ledger: postgres.there().ledger, queues: queues() };
        const { kind } = await retryEvent(deps, { source, eventId });
        return kind === "retried" ? "retried" : "not_needed";
      },
    },
    pressure: () => queue.pressure(),
    open: () => {
      const openings = stores.map((store) => store.open());
      const opened = Promise.all(openings.map((opening) => opening.opened));
      // Who is thrown at by `tried` does not listen to it any more.
      opened.catch(() => {});
      return { tried: Promise.all(openings.map(({ tried }) => tried)), opened };
    },
    close: async () => {
      await Promise.all(eventStores.map((store) => store.close(CLOSE_TIMEOUT_MS)));
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

function withQueues(store: PostgresStore | undefined): Queues {
  if (store?.queues !== undefined) return store.queues;
  throw new MillraceError("unavailable", "Cannot reach the queue: there is none");
}
