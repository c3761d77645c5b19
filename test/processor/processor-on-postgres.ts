import {
  bodyHash,
  type Handler,
  type HandlerFunction,
  type EventJob,
  type JobResult,
  type SourcePolicy,
} from "@millrace/core";
import { createLedger, createPool } from "@millrace/ledger";
import { createProcessor, type Notice, type Processor } from "@millrace/processor";
import { sql } from "drizzle-orm";
import type pg from "pg";
import { migratedDatabase } from "../support/scratch-database.ts";
import { seenEvents, type SeenEvents } from "../support/seen-events.ts";

/** Processors on the real ledger, each with a pool of its own, over one fresh database. */
export interface Bench extends SeenEvents {
  readonly pool: pg.Pool;
  readonly url: string;
  /** What handlers left for an event, in order. */
  notes(eventId: string): Promise<string[]>;
  processor(handlers: readonly Handler[], options?: Options): Processor & { notices: Notice[] };
  end(): Promise<void>;
}

export interface Options {
  readonly attempts?: number;
  readonly backoff?: SourcePolicy["backoff"];
  readonly bodyDedup?: boolean;
  readonly handlerTimeoutMs?: number;
  readonly concurrency?: number;
  readonly databaseRetryMs?: number;
  readonly random?: () => number;
  /** Runs before jobs are recorded. What it throws is thrown in place of the ledger's answer. */
  readonly beforeRecord?: (jobs: readonly EventJob[]) => Promise<void> | void;
  /** The same between the record of an attempt and its transaction. */
  readonly beforeAttempt?: () => Promise<void> | void;
  /** The same before a failed attempt is recorded. */
  readonly beforeFail?: (attempt: number) => Promise<void> | void;
  /** The same before an event is failed without an attempt. */
  readonly beforeAbandon?: () => Promise<void> | void;
}

const BACKOFF = { firstMs: 10, factor: 1, maxMs: 10 };
const WORKER = { lockTimeoutMs: 500, idleInTransactionTimeoutMs: 35_000 };

export async function createBench(): Promise<Bench> {
  const database = await migratedDatabase();
  const open = () => createPool({ url: database.url, max: 12, applicationName: "test" });
  const pool = open();
  await pool.query("create table effects (event_id text, note text)");
  const ends: (() => Promise<unknown>)[] = [];
  return {
    pool,
    url: database.url,
    processor: (handlers, options = {}) => {
      const own = open();
      const notices: Notice[] = [];
      const ledger = createLedger({ pool: own }, WORKER);
      const { attempts = 3, backoff = BACKOFF, bodyDedup = true } = options;
      const { concurrency = 8, handlerTimeoutMs = 10_000, databaseRetryMs, random } = options;
      const policy = { attempts, backoff, bodyDedup };
      const processor = createProcessor(
        {
          ledger: {
            ...ledger.claims,
            record: async (jobs) => {
              await options.beforeRecord?.(jobs);
              return await ledger.claims.record(jobs);
            },
            attempt: async (key, attempt, work, limits) => {
              await options.beforeAttempt?.();
              return await ledger.claims.attempt(key, attempt, work, limits);
            },
            fail: async (key, attempt, failure) => {
              await options.beforeFail?.(attempt);
              return await ledger.claims.fail(key, attempt, failure);
            },
            abandonEvent: async (event, failure) => {
              await options.beforeAbandon?.();
              return await ledger.claims.abandonEvent(event, failure);
            },
          },
          handlers,
          sources: { shop: { options: policy }, bank: { options: policy } },
          notify: (notice) => notices.push(notice),
          ...(random === undefined ? {} : { random }),
        },
        {
          concurrency,
          handlerTimeoutMs,
          ...(databaseRetryMs === undefined ? {} : { databaseRetryMs }),
        },
      );
      ends.push(async () => {
        await processor.close();
        await own.end();
      });
      return Object.assign(processor, { notices });
    },
    ...seenEvents(pool),
    notes: async (eventId) => {
      const text = "select note from effects where event_id = $1 order by ctid";
      const { rows } = await pool.query<{ note: string }>(text, [eventId]);
      return rows.map(({ note }) => note);
    },
    end: async () => {
      await Promise.all(ends.map((end) => end()));
      await pool.end();
      await database.drop();
    },
  };
}

/** Leaves an effect that the test counts, in a table that would take any number of them. */
export const effect: HandlerFunction = leave("effect");

/** Leaves an effect under a name of its own. */
export function leave(note: string): HandlerFunction {
  return async (event, { tx }) => {
    await tx.execute(sql`insert into effects values (${event.id}, ${note})`);
  };
}

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
  given: Partial<Omit<EventJob["event"], "body">> & {
    body?: string | undefined;
    run?: string;
    signal?: AbortSignal;
  } = {},
): EventJob {
  count += 1;
  const { run = "run-1", signal = new AbortController().signal, ...event } = given;
  const body = "body" in given ? given.body : '{"n":1}';
  return {
    event: {
      source: "shop",
      eventId: `evt_${count}`,
      type: "order.created",
      generation: 0,
      acceptedAtMs: Date.now(),
      bodyHash: bodyHash(Buffer.from(body ?? "")),
      headers: { "x-kept": "1" },
      unsigned: false,
      ...event,
      body: body === undefined ? undefined : Buffer.from(body),
    },
    run,
    enqueuedAtMs: Date.now(),
    signal,
  };
}

/** One job's result. */
export async function settle(processor: Processor, job: EventJob): Promise<JobResult> {
  return await processor.process(job);
}
