import {
  bodyHash,
  on,
  parseConfig,
  type Handler,
  type IncomingEvent,
  type OnFailed,
} from "@millrace/core";
import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import type { Notice } from "@millrace/processor";
import { createPostgresQueues, createRedisQueues, type Queues } from "@millrace/queue";
import { createWorker, type Worker } from "@millrace/worker";
import { sql } from "drizzle-orm";
import type pg from "pg";
import type { TestServers } from "../support/backends.ts";
import { seenEvents, type SeenEvents } from "../support/seen-events.ts";
import { plainProvider } from "../intake/plain-provider.ts";

/** A queue, a ledger, and workers in this process on both. */
export interface WorkerBench extends SeenEvents {
  readonly pool: pg.Pool;
  readonly ledger: Ledger;
  /** The producer's side. */
  readonly queues: Queues;
  /** Starts a worker; it is closed at the end unless the test did. */
  work(
    handlers: readonly Handler[],
    worker?: Record<string, number>,
    onFailed?: OnFailed,
  ): Promise<StartedWorker>;
  end(): Promise<void>;
}

export interface StartedWorker {
  readonly worker: Worker;
  readonly notices: readonly Notice[];
  readonly hookErrors: readonly unknown[];
}

const POLICY = { attempts: 3, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };

/** The config of a worker with one source, `shop`. */
export function shopConfig(handlers: readonly Handler[], worker: Record<string, number> = {}) {
  return parseConfig({
    sources: { shop: { provider: plainProvider(), options: POLICY } },
    handlers,
    worker: { lockDurationMs: 3_000, stalledIntervalMs: 1_000, ...worker },
  });
}

export async function createWorkerBench(servers: TestServers): Promise<WorkerBench> {
  const openPool = () => createPool({ url: servers.databaseUrl, max: 30, applicationName: "test" });
  const pool = openPool();
  await pool.query("create table effects (event_id text)");
  const queues = await openQueues(servers);
  const ends: (() => Promise<unknown>)[] = [];

  async function work(
    handlers: readonly Handler[],
    options: Record<string, number> = {},
    onFailed?: OnFailed,
  ) {
    const config = { ...shopConfig(handlers, options), onFailed };
    const own = openPool();
    const ownQueues = await openQueues(servers);
    const notices: Notice[] = [];
    const hookErrors: unknown[] = [];
    const worker = createWorker(
      {
        ledger: createLedger({ pool: own }, config.worker).claims,
        queues: ownQueues,
        handlers,
        notify: (notice) => notices.push(notice),
        onHookError: (error) => hookErrors.push(error),
      },
      config,
    );
    ends.push(async () => {
      if (worker.open) await worker.close();
      await ownQueues.close();
      await own.end();
    });
    return { worker, notices, hookErrors };
  }

  return {
    pool,
    ledger: createLedger({ pool }),
    queues,
    work,
    ...seenEvents(pool),
    end: async () => {
      await Promise.all(ends.map((end) => end()));
      await queues.close();
      await pool.end();
      await servers.release();
    },
  };
}

async function openQueues(servers: TestServers): Promise<Queues> {
  const options = { sources: ["shop"], role: "worker", notify: () => {} } as const;
  const queues =
    servers.redisUrl === undefined
      ? await createPostgresQueues({ url: servers.databaseUrl, ...options })
      : createRedisQueues({ url: servers.redisUrl, ...options });
  for (;;) {
    try {
      await queues.ping();
      return queues;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

let count = 0;

/** An event as the ingress would have it. */
export function makeEvent(given: Partial<IncomingEvent> = {}): IncomingEvent {
  count += 1;
  const body = given.body ?? Buffer.from('{"n":1}');
  return {
    source: "shop",
    eventId: `evt_${count}`,
    type: "order.created",
    generation: 0,
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: {},
    unsigned: false,
    ...given,
    body,
  };
}

/** Leaves an effect in a table that would take any number of them. */
export const effect = on("shop", "*", async (event, { tx }) => {
  await tx.execute(sql`insert into effects values (${event.id})`);
});
