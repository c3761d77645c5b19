import type { EventRow } from "@millrace/api-contract";
import {
  on,
  parseConfig,
  type HandlerFunction,
  type IncomingEvent,
  type JobResult,
} from "@millrace/core";
import { standardWebhooks } from "millrace";
import type { FoundJob, Queues } from "@millrace/queue";
import { openOn, type TestServers } from "./backends.ts";
import { openTestLedger, type TestLedger } from "./ledger-fixture.ts";
import { event, openTestQueues } from "./queue-fixture.ts";
import { until } from "./until.ts";
import { startWorker } from "./worker.ts";

/** A ledger and queues of sources `acme` and `patient`, with workers for as long as a test wants one. */
export interface TestStores extends TestLedger {
  readonly servers: TestServers;
  readonly queues: Queues;
  /** Puts an event on the queue, as an ingress does on this backend. */
  take(eventId: string, over?: Partial<IncomingEvent>): Promise<void>;
  /**
   * Runs a worker whose one handler is `run`, for as long as `during` takes. `beforeReport` runs between
   * what it wrote to the ledger and what the queue is told.
   */
  work(
    run: HandlerFunction,
    during: () => Promise<unknown>,
    beforeReport?: () => Promise<void>,
  ): Promise<void>;
  /** Runs a worker that settles every job without the ledger; it completes them when not told else. */
  workBlindly(during: () => Promise<unknown>, settlement?: JobResult): Promise<void>;
  /** Takes an event and lets its only attempt fail, in the ledger and in the queue. */
  fail(eventId: string, over?: Partial<IncomingEvent>): Promise<void>;
  row(eventId: string): Promise<EventRow | undefined>;
  job(eventId: string): Promise<FoundJob | undefined>;
}

const policy = { attempts: 1, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };

/** The config of these stores, for roles beside them. */
export const STORES_CONFIG = {
  sources: { acme: standardWebhooks(policy), patient: standardWebhooks(policy) },
  worker: {
    ...{ concurrency: 4, handlerTimeoutMs: 10_000, shutdownTimeoutMs: 5_000 },
    ...{ lockDurationMs: 1_000, stalledIntervalMs: 500 },
  },
};
const config = parseConfig(STORES_CONFIG);
const SOURCES = Object.keys(config.sources);

export const key = (eventId: string) => ({ source: "acme", eventId, generation: 0 });

/** Opens the stores on servers that they release when they are closed. */
export function openTestStores(servers: TestServers): Promise<TestStores> {
  return openOn(servers, () => openStores(servers));
}

async function openStores(servers: TestServers): Promise<TestStores> {
  const test = await openTestLedger({ url: servers.databaseUrl, max: 12 });
  const { ledger } = test;
  const queues = await openTestQueues(servers, "dashboard", SOURCES);

  const take = async (eventId: string, over: Partial<IncomingEvent> = {}) => {
    const incoming = event(eventId, over);
    const identityOnly = queues.backend === "postgres";
    if (identityOnly) await ledger.intake.accept([incoming]);
    const [result] = await queues.enqueue([incoming], { identityOnly });
    if (result !== "accepted") throw new Error(`Cannot take ${eventId}: ${String(result)}`);
  };
  const work: TestStores["work"] = async (run, during, beforeReport) => {
    const handlers = SOURCES.map((source) => on(source, "*", run));
    const worker = await startWorker(servers, config, handlers, beforeReport);
    try {
      await during();
    } finally {
      await worker.close();
    }
  };
  const job = (eventId: string) => queues.findJob(key(eventId));

  return {
    ...test,
    servers,
    queues,
    take,
    work,
    workBlindly: async (during, settlement = { kind: "completed", outcome: "handled" }) => {
      const own = await openTestQueues(servers, "worker", SOURCES);
      const { worker } = config;
      const run = async () => settlement;
      own.work({ worker, concurrency: () => 4, run, onAbandoned: async () => {} });
      try {
        await during();
      } finally {
        await own.close();
      }
    },
    fail: async (eventId, over) => {
      await take(eventId, over);
      const broken = () => {
        throw new Error("the switch is off");
      };
      await work(broken, () => until(async () => (await job(eventId))?.state === "failed"));
    },
    row: async (eventId) => (await ledger.reads.findEvent(key(eventId)))?.event,
    job,
    close: async () => {
      await queues.close();
      await test.close();
      await servers.release();
    },
  };
}
