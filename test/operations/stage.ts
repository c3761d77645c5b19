import type { EventRow } from "@millrace/api-contract";
import {
  bodyHash,
  on,
  type HandlerFunction,
  type IncomingEvent,
  type JobResult,
} from "@millrace/core";
import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import { createProcessor } from "@millrace/processor";
import {
  createPostgresQueues,
  createRedisQueues,
  type FoundJob,
  type Queues,
} from "@millrace/queue";
import type pg from "pg";
import type { TestServers } from "../support/backends.ts";
import { event, quickWorker } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

/** A real ledger and real queues over the servers of one suite, with workers when a test wants one. */
export interface Stage {
  readonly pool: pg.Pool;
  readonly ledger: Ledger;
  readonly queues: Queues;
  /** Puts an event on the queue, as an ingress does on this backend. */
  take(eventId: string, over?: Partial<IncomingEvent>): Promise<void>;
  /**
   * Runs a worker whose one handler is `run`, for as long as `during` takes. `beforeTelling` holds
   * it up between what it wrote to the ledger and what it tells the queue.
   */
  work(
    run: HandlerFunction,
    during: () => Promise<unknown>,
    beforeTelling?: () => Promise<void>,
  ): Promise<void>;
  /** Runs a worker that settles every job without the ledger; it completes them when not told else. */
  workBlindly(during: () => Promise<unknown>, settlement?: JobResult): Promise<void>;
  /** Takes an event and lets its only attempt fail, in the ledger and in the queue. */
  fail(eventId: string, over?: Partial<IncomingEvent>): Promise<void>;
  row(eventId: string): Promise<EventRow | undefined>;
  job(eventId: string): Promise<FoundJob | undefined>;
  close(): Promise<void>;
}

const SOURCES = ["acme", "patient"];
export const key = (eventId: string) => ({ source: "acme", eventId, generation: 0 });

export async function createStage(servers: TestServers): Promise<Stage> {
  const pool = createPool({ url: servers.databaseUrl, max: 12, applicationName: "test" });
  const ledger = createLedger({ pool });
  const queues = await openQueues(servers, "dashboard");
  await until(() => queues.ping().then(() => true));

  const take = async (eventId: string, over: Partial<IncomingEvent> = {}) => {
    const incoming = event(eventId, over.body ? { bodyHash: bodyHash(over.body), ...over } : over);
    const identityOnly = queues.backend === "postgres";
    if (identityOnly) await ledger.intake.accept([incoming]);
    const [placement] = await queues.enqueue([incoming], { identityOnly });
    if (placement !== "accepted") throw new Error(`Cannot take ${eventId}: ${String(placement)}`);
  };
  const work: Stage["work"] = (run, during, beforeTelling = async () => {}) =>
    runWorker({ servers, ledger, run, beforeTelling }, during);
  const row = async (eventId: string) => (await ledger.reads.findEvent(key(eventId)))?.event;
  const job = (eventId: string) => queues.findJob(key(eventId));

  return {
    pool,
    ledger,
    queues,
    take,
    work,
    workBlindly: (during, settlement = { kind: "completed", outcome: "handled" }) =>
      settleBlindly({ servers, settlement }, during),
    row,
    job,
    fail: async (eventId, over) => {
      await take(eventId, over);
      const broken = () => {
        throw new Error("the switch is off");
      };
      await work(broken, () => until(async () => (await job(eventId))?.state === "failed"));
    },
    close: async () => {
      await queues.close();
      await pool.end();
    },
  };
}

export function openQueues(
  servers: TestServers,
  role: "dashboard" | "worker",
): Promise<Queues> | Queues {
  const options = { sources: SOURCES, role, notify: () => {} };
  return servers.redisUrl === undefined
    ? createPostgresQueues({ url: servers.databaseUrl, ...options })
    : createRedisQueues({ url: servers.redisUrl, ...options });
}

async function settleBlindly(
  { servers, settlement }: { servers: TestServers; settlement: JobResult },
  during: () => Promise<unknown>,
): Promise<void> {
  const queues = await openQueues(servers, "worker");
  queues.work({
    worker: quickWorker(),
    concurrency: () => 4,
    run: async () => settlement,
    onAbandoned: async () => {},
  });
  try {
    await during();
  } finally {
    await queues.close();
  }
}

async function runWorker(
  deps: {
    servers: TestServers;
    ledger: Ledger;
    run: HandlerFunction;
    beforeTelling: () => Promise<void>;
  },
  during: () => Promise<unknown>,
): Promise<void> {
  const policy = {
    attempts: 1,
    backoff: { firstMs: 10, factor: 1, maxMs: 10 },
    bodyDedup: true,
  };
  const processor = createProcessor(
    {
      ledger: deps.ledger.claims,
      handlers: SOURCES.map((source) => on(source, "*", deps.run)),
      sources: Object.fromEntries(SOURCES.map((source) => [source, { options: policy }])),
    },
    { concurrency: 4, handlerTimeoutMs: 10_000 },
  );
  const queues = await openQueues(deps.servers, "worker");
  const workers = queues.work({
    worker: quickWorker(),
    concurrency: () => 4,
    run: async (job) => {
      const result = await processor.process(job);
      await deps.beforeTelling();
      return result;
    },
    onAbandoned: async () => {},
  });
  try {
    await during();
  } finally {
    await workers.close({ timeoutMs: 5_000 });
    await queues.close();
    await processor.close();
  }
}
