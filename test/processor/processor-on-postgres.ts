import {
  bodyHash,
  type Handler,
  type HandlerFunction,
  type QueuedEvent,
  type Settlement,
} from "@millrace/core";
import { createLedger, createPool, isDatabaseTrouble, migrate } from "@millrace/ledger";
import { createProcessor, type Notice, type Processor } from "@millrace/processor";
import { sql } from "drizzle-orm";
import type pg from "pg";
import { scratchDatabase } from "../support/scratch-database.ts";
import { seenEvents, type SeenEvents } from "../support/seen-events.ts";

/** Processors on the real ledger, each with a pool of its own, over one fresh database. */
export interface Bench extends SeenEvents {
  readonly pool: pg.Pool;
  readonly url: string;
  processor(handlers: readonly Handler[], options?: Options): Processor & { notices: Notice[] };
  end(): Promise<void>;
}

interface Options {
  readonly attempts?: number;
  readonly handlerTimeoutMs?: number;
  /** Held up here between the record of an attempt and its transaction. */
  readonly beforeAttempt?: () => Promise<void>;
}

const BACKOFF = { firstMs: 10, factor: 1, maxMs: 10 };
const WORKER = { lockTimeoutMs: 500, idleInTransactionTimeoutMs: 35_000 };

export async function createBench(): Promise<Bench> {
  const database = await scratchDatabase();
  const open = () => createPool({ url: database.url, max: 12, applicationName: "test" });
  const pool = open();
  await migrate({ pool });
  await pool.query("create table effects (event_id text, note text)");
  const ends: (() => Promise<unknown>)[] = [];
  return {
    pool,
    url: database.url,
    processor: (handlers, options = {}) => {
      const own = open();
      const notices: Notice[] = [];
      const ledger = createLedger({ pool: own }, WORKER);
      const processor = createProcessor(
        {
          ledger: {
            ...ledger,
            attempt: async (key, attempt, work, limits) => {
              await options.beforeAttempt?.();
              return await ledger.attempt(key, attempt, work, limits);
            },
          },
          handlers,
          sources: {
            shop: { attempts: options.attempts ?? 3, backoff: BACKOFF, bodyDedup: true },
          },
          isDatabaseTrouble,
          notify: (notice) => notices.push(notice),
        },
        { concurrency: 8, handlerTimeoutMs: options.handlerTimeoutMs ?? 10_000 },
      );
      ends.push(async () => {
        await processor.close();
        await own.end();
      });
      return Object.assign(processor, { notices });
    },
    ...seenEvents(pool),
    end: async () => {
      await Promise.all(ends.map((end) => end()));
      await pool.end();
      await database.drop();
    },
  };
}

/** Leaves an effect that the test counts, in a table that would take any number of them. */
export const effect: HandlerFunction = async (event, { tx }) => {
  await tx.execute(sql`insert into effects values (${event.id}, 'effect')`);
};

/** Leaves an effect too, and throws after it. */
export const thenThrow =
  (thrown: unknown): HandlerFunction =>
  async (event, context) => {
    await effect(event, context);
    throw thrown;
  };

let count = 0;

/** A job of a fresh event. `run` names the queue's run of it. */
export function makeJob(
  given: { eventId?: string; type?: string; body?: string | undefined; run?: string } = {},
): QueuedEvent {
  count += 1;
  const body = "body" in given ? given.body : '{"n":1}';
  return {
    event: {
      source: "shop",
      eventId: given.eventId ?? `evt_${count}`,
      type: given.type ?? "order.created",
      generation: 0,
      acceptedAtMs: Date.now(),
      bodyHash: bodyHash(Buffer.from(body ?? "")),
      headers: { "x-kept": "1" },
      unsigned: false,
      body: body === undefined ? undefined : Buffer.from(body),
    },
    run: given.run ?? "run-1",
    enqueuedAtMs: Date.now(),
    signal: new AbortController().signal,
  };
}

/** One job's settlement. */
export async function settle(processor: Processor, job: QueuedEvent): Promise<Settlement> {
  const [settlement] = await Promise.all(processor.process([job]));
  if (settlement === undefined) throw new Error("Cannot see a settlement");
  return settlement;
}
