import {
  on,
  type EmittedEvent,
  type EventJob,
  type Handler,
  type HandlerFunction,
  type HandlerParts,
  type IncomingEvent,
  type SourcePolicy,
  type TableSchema,
} from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { createProcessor, type Notice, type ProcessorDeps } from "@millrace/processor";
import { internal } from "millrace";
import { sql } from "drizzle-orm";
import type pg from "pg";
import { aJob, anEvent } from "../support/events.ts";
import { openTestLedger, testPool } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";
import { seenEvents } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

export type TestProcessors = Awaited<ReturnType<typeof openTestProcessors>>;

type Claims = ProcessorDeps["ledger"];
type WorkerOptions = Partial<Parameters<typeof createProcessor>[1]>;
type Policy = Partial<Pick<SourcePolicy, "attempts" | "backoff" | "waitMaxMs" | "bodyDedup">>;

export interface Options extends WorkerOptions, Policy {
  readonly openLog?: ProcessorDeps["openLog"];
  readonly random?: () => number;
  readonly schema?: TableSchema;
  readonly groups?: boolean;
  readonly before?: {
    readonly [Name in keyof Claims]?: (...given: Parameters<Claims[Name]>) => unknown;
  };
}

const MAIL = internal();
const BACKOFF = { firstMs: 10, factor: 1, maxMs: 10 };
const WORKER = { lockTimeoutMs: 500, idleInTransactionTimeoutMs: 35_000 };

export const useProcessors = (): TestProcessors => openForAll(openTestProcessors);

async function openTestProcessors() {
  const test = await openTestLedger({ max: 12 });
  await test.ask("create table effects (event_id text, note text)");
  const ends: (() => Promise<unknown>)[] = [];
  const pools: pg.Pool[] = [];
  return {
    ...test,
    pools,
    ...seenEvents(test.pool),
    create: (handlers: readonly Handler[], options: Options = {}) => {
      const { attempts = 3, backoff = BACKOFF, waitMaxMs = 259_200_000, bodyDedup } = options;
      const { groups = false, schema, before = {}, openLog, random, ...worker } = options;
      const own = testPool(test.url, 12);
      pools.push(own);
      const notices: Notice[] = [];
      const emitted: EmittedEvent[] = [];
      const ledger = createLedger(
        { pool: own },
        { ...WORKER, schema, bodyDedup: () => bodyDedup ?? true },
      );
      const policy = { attempts, backoff, waitMaxMs };
      const processor = createProcessor(
        {
          ledger: withHooks(ledger.claims, before),
          handlers,
          sources: {
            ...{ shop: { options: policy }, bank: { options: policy } },
            mail: { provider: MAIL.provider, options: { ...policy, bodyBytesMax: 1_000 } },
            audit: { provider: MAIL.provider, options: policy },
          },
          onEmitted: (events) => emitted.push(...events),
          notify: (notice) => notices.push(notice),
          openLog,
          ...(random === undefined ? {} : { random }),
        },
        {
          ...{ concurrency: 8, handlerTimeoutMs: 10_000, ...worker },
          ...(groups ? { mayShare: () => true } : {}),
        },
      );
      ends.push(async () => {
        await processor.close();
        await own.end();
      });
      return Object.assign(processor, { notices, emitted });
    },
    accept: (...jobs: readonly EventJob[]) =>
      test.ledger.intake.accept(
        jobs.map(({ event }) => ({ ...event, body: event.body ?? Buffer.of() })),
      ),
    charged: async (eventId: string) => {
      const text =
        "select attempts - attempts_at_retry as n from millrace.events where event_id = $1";
      return (await test.ask<{ n: number }>(text, [eventId]))[0]?.n;
    },
    notes: async (eventId: string) => {
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

function withHooks(claims: Claims, before: NonNullable<Options["before"]>): Claims {
  const calls = Object.entries(before).map(([name, hook]) => {
    const call = claims[name as keyof Claims] as (...given: unknown[]) => Promise<unknown>;
    const hooked = async (...given: unknown[]) => {
      await (hook as (...given: unknown[]) => unknown)(...given);
      return await call(...given);
    };
    return [name, hooked] as const;
  });
  return { ...claims, ...Object.fromEntries(calls) };
}

export const effect: HandlerFunction = leave("effect");

export function leave(note: string): HandlerFunction {
  return async (event, { tx }) => {
    await tx.execute(sql`insert into effects values (${event.id}, ${note})`);
  };
}

export const thenThrow =
  (thrown: unknown): HandlerFunction =>
  async (event, context) => {
    await effect(event, context);
    throw thrown;
  };

export function makeJob(
  given: Partial<Omit<IncomingEvent, "body">> & {
    body?: string | undefined;
    run?: string;
    signal?: AbortSignal;
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

const EXACT = {
  backoff: { firstMs: 2_000, factor: 3, maxMs: 3_600_000 },
  random: () => 1,
  databaseRetryMs: 300,
};

export function prepare(
  processors: TestProcessors,
  handlers: HandlerFunction | HandlerParts | readonly Handler[],
  options: Options = {},
  over: Parameters<typeof makeJob>[0] = {},
) {
  const isList = (given: typeof handlers): given is readonly Handler[] => Array.isArray(given);
  const list = isList(handlers) ? handlers : [on("shop", "*", handlers as HandlerFunction)];
  const processor = processors.create(list, options);
  const job = makeJob(over);
  const { eventId } = job.event;
  return {
    ...{ processor, job, eventId, notices: processor.notices },
    process: () => processor.process(job),
    row: () => processors.row(eventId),
    effects: () => processors.effects(eventId),
    notes: () => processors.notes(eventId),
  };
}

export function repeatJob(
  processors: TestProcessors,
  handler: HandlerFunction,
  options: Options = {},
) {
  const prepared = prepare(processors, handler, { ...EXACT, ...options });
  const { processor, job, eventId } = prepared;
  let run = 0;
  return {
    ...prepared,
    next: (name = `run-${(run += 1)}`) => processor.process({ ...job, run: name }),
    claimElsewhere: () =>
      processors.ask("update millrace.events set attempts = attempts + 1 where event_id = $1", [
        eventId,
      ]),
    charged: () => processors.charged(eventId),
  };
}

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
  const untilWaiting = (count = 1) => until(() => seen.waiting >= count);
  return { open: () => open(), pass, seen, untilWaiting };
}

export const fresh = (over: Parameters<typeof makeJob>[0] = {}) =>
  makeJob({ startedBefore: false, ...over });

export async function warmGroups(
  processors: TestProcessors,
  run: HandlerFunction,
  { leavesEffect = true, ...options }: Options & { leavesEffect?: boolean } = {},
) {
  const handler: HandlerFunction = async (event, context) => {
    if (event.headers["x-calm"] || leavesEffect) await effect(event, context);
    if (!event.headers["x-calm"]) await run(event, context);
  };
  return await warmUp(processors.create([on("shop", "*", handler)], { ...options, groups: true }));
}

export async function warmUp(processor: ReturnType<TestProcessors["create"]>, body?: string) {
  const together = (jobs: readonly EventJob[]) =>
    Promise.all(jobs.map((job) => processor.process(job)));
  const groups = () =>
    processor.notices.filter((notice) => notice.kind === "group_ended").map(({ size }) => size);
  const calm = { headers: { "x-calm": "1" }, ...(body === undefined ? {} : { body }) };
  // A busy machine makes a type look slow for a while.
  for (let round = 0; (groups().at(-1) ?? 0) < 16; round += 1) {
    if (round > 300) throw new Error(`No group of 16 was formed: ${groups().join()}`);
    await together(Array.from({ length: 32 }, () => fresh(calm)));
  }
  return { processor, together, groups };
}

interface EmittedRow {
  readonly event_id: string;
  readonly type: string;
  readonly status: string;
  readonly due: boolean;
  readonly transaction: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

export function emittedRows(
  processors: TestProcessors,
  eventId: string,
  generation = 0,
): Promise<EmittedRow[]> {
  return processors.ask<EmittedRow>(
    `select e.event_id, e.type, e.status, e.xmin::text as transaction, b.headers, b.body,
       coalesce(e.next_attempt_at <= now(), true) as due
     from millrace.events e left join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
     where parent_source = 'shop' and parent_event_id = $1 and parent_generation = $2
     order by e.source, e.event_id`,
    [eventId, generation],
  );
}
