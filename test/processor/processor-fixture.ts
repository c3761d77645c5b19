import {
  on,
  type EmittedEvent,
  type EventJob,
  type Handler,
  type HandlerFunction,
  type IncomingEvent,
  type SourcePolicy,
  type TableSchema,
} from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import {
  createProcessor,
  type Notice,
  type Processor,
  type ProcessorDeps,
} from "@millrace/processor";
import { internal } from "millrace";
import { sql } from "drizzle-orm";
import type pg from "pg";
import { aJob, anEvent } from "../support/events.ts";
import { openTestLedger, testPool, type TestLedger } from "../support/ledger-fixture.ts";
import { seenEvents, type SeenEvents } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

/** A ledger with a table of effects, and processors on it, each with a pool of its own. */
export interface TestProcessors extends TestLedger, SeenEvents {
  /** The pools of the processors, in the order in which they were made. */
  readonly pools: readonly pg.Pool[];
  /** What handlers left for an event, in order. */
  notes(eventId: string): Promise<string[]>;
  create(
    handlers: readonly Handler[],
    options?: Options,
  ): Processor & { notices: Notice[]; emitted: EmittedEvent[] };
}

export interface Options {
  readonly attempts?: number;
  readonly backoff?: SourcePolicy["backoff"];
  readonly waitMaxMs?: number;
  readonly bodyDedup?: boolean;
  readonly handlerTimeoutMs?: number;
  readonly concurrency?: number;
  readonly callsMax?: number;
  readonly openLog?: ProcessorDeps["openLog"];
  /** What the processes' environment keeps secret. */
  readonly secrets?: readonly string[];
  readonly keepsStacks?: boolean;
  /** Tables that handlers find in `tx.query`. */
  readonly schema?: TableSchema;
  /** Makes first attempts without a record before them, several in a transaction. */
  readonly groups?: boolean;
  /** False for a handler that leaves no effect of its own before what a test gives it. */
  readonly effect?: boolean;
  readonly databaseRetryMs?: number;
  readonly random?: () => number;
  /** Runs before jobs are recorded. What it throws is thrown in place of the ledger's answer. */
  readonly beforeRecord?: (jobs: readonly EventJob[]) => Promise<void> | void;
  /** The same between the record of an attempt and its transaction. */
  readonly beforeAttempt?: () => Promise<void> | void;
  /** The same before it is decided whether an event that makes calls is a replay. */
  readonly beforeDecision?: () => Promise<void> | void;
  /** The same after that. */
  readonly afterDecision?: () => Promise<void> | void;
  /** The same between a step and its record. */
  readonly beforeStep?: () => Promise<void> | void;
  /** The same before a failed attempt is recorded. */
  readonly beforeFail?: (attempt: number) => Promise<void> | void;
  /** The same before an event is failed without an attempt. */
  readonly beforeAbandon?: () => Promise<void> | void;
}

/** The internal sources `mail`, of small bodies, and `audit`. */
const MAIL = internal();
const BACKOFF = { firstMs: 10, factor: 1, maxMs: 10 };
const WORKER = { lockTimeoutMs: 500, idleInTransactionTimeoutMs: 35_000 };

export async function openTestProcessors(): Promise<TestProcessors> {
  const test = await openTestLedger({ max: 12 });
  await test.ask("create table effects (event_id text, note text)");
  const ends: (() => Promise<unknown>)[] = [];
  const pools: pg.Pool[] = [];
  return {
    ...test,
    pools,
    ...seenEvents(test.pool),
    create: (handlers, options = {}) => {
      const own = testPool(test.url, 12);
      pools.push(own);
      const notices: Notice[] = [];
      const emitted: EmittedEvent[] = [];
      const ledger = createLedger({ pool: own }, { ...WORKER, schema: options.schema });
      const { attempts = 3, backoff = BACKOFF, bodyDedup = true } = options;
      const { waitMaxMs = 259_200_000 } = options;
      const { concurrency = 8, handlerTimeoutMs = 10_000, databaseRetryMs, random } = options;
      const policy = { attempts, backoff, waitMaxMs, bodyDedup };
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
            decideOriginal: async (key, attempt) => {
              await options.beforeDecision?.();
              const answer = await ledger.claims.decideOriginal(key, attempt);
              await options.afterDecision?.();
              return answer;
            },
            recordStep: async (key, attempt, step) => {
              await options.beforeStep?.();
              return await ledger.claims.recordStep(key, attempt, step);
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
          sources: {
            ...{ shop: { options: policy }, bank: { options: policy } },
            mail: { provider: MAIL.provider, options: { ...policy, bodyBytesMax: 1_000 } },
            audit: { provider: MAIL.provider, options: policy },
          },
          onEmitted: (events) => emitted.push(...events),
          notify: (notice) => notices.push(notice),
          openLog: options.openLog,
          ...(random === undefined ? {} : { random }),
        },
        {
          concurrency,
          ...(options.callsMax === undefined ? {} : { callsMax: options.callsMax }),
          handlerTimeoutMs,
          secrets: options.secrets,
          ...(options.keepsStacks === undefined ? {} : { keepsStacks: options.keepsStacks }),
          ...(databaseRetryMs === undefined ? {} : { databaseRetryMs }),
          ...(options.groups === true ? { mayShare: () => true } : {}),
        },
      );
      ends.push(async () => {
        await processor.close();
        await own.end();
      });
      return Object.assign(processor, { notices, emitted });
    },
    notes: async (eventId) => {
      const text = "select note from effects where event_id = $1 order by ctid";
      const rows = await test.ask<{ note: string }>(text, [eventId]);
      return rows.map(({ note }) => note);
    },
    close: async () => {
      await Promise.all(ends.map((end) => end()));
      await test.close();
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

/** A job of a fresh event. `run` names the queue's run of it. */
export function makeJob(
  given: Partial<Omit<IncomingEvent, "body">> & {
    body?: string | undefined;
    run?: string;
    signal?: AbortSignal;
    /** False for a job that the queue starts for the first time. */
    startedBefore?: boolean;
  } = {},
): EventJob {
  const { run, signal, startedBefore, ...over } = given;
  const text = "body" in given ? given.body : '{"n":1}';
  const event = anEvent({
    ...{ type: "order.created", headers: { "x-kept": "1" }, ...over },
    body: Buffer.from(text ?? ""),
  });
  const job = {
    ...aJob(text === undefined ? { ...event, body: undefined } : event, run),
    ...(startedBefore === undefined ? {} : { startedBefore }),
  };
  return signal === undefined ? job : { ...job, signal };
}

/** Backoff and jitter at their longest, so that delays are exact. */
const EXACT = {
  backoff: { firstMs: 2_000, factor: 3, maxMs: 3_600_000 },
  random: () => 1,
  databaseRetryMs: 300,
};

/** Runs one job again and again, each time as the queue does after it was given a result. */
export function repeatJob(
  processors: TestProcessors,
  handler: HandlerFunction,
  options: Options = {},
) {
  const processor = processors.create([on("shop", "*", handler)], { ...EXACT, ...options });
  const job = makeJob();
  const { eventId } = job.event;
  let run = 0;
  return {
    ...{ processor, job, eventId, notices: processor.notices },
    next: (name = `run-${(run += 1)}`) => processor.process({ ...job, run: name }),
    row: () => processors.row(eventId),
    effects: () => processors.effects(eventId),
    /** Counts an attempt as another worker does that claims the event. */
    claimElsewhere: () =>
      processors.ask("update millrace.events set attempts = attempts + 1 where event_id = $1", [
        eventId,
      ]),
    attemptsSinceRetry: async () => {
      const [row] = await processors.ask<{ n: number }>(
        "select attempts - attempts_at_retry as n from millrace.events where event_id = $1",
        [eventId],
      );
      return row?.n;
    },
  };
}

/** A gate that handlers wait at until it opens, and the number that wait. */
export function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const seen = { waiting: 0, most: 0 };
  const pass = async () => {
    seen.waiting += 1;
    seen.most = Math.max(seen.most, seen.waiting);
    await opened;
    seen.waiting -= 1;
  };
  /** Waits until so many have come. */
  const untilWaiting = (count = 1) => until(() => seen.waiting >= count);
  return { open: () => open(), pass, seen, untilWaiting };
}
