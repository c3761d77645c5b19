import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import config from "../../fixtures/deadlines/millrace.config.ts";
import { onRedis, type TestServers } from "../../support/backends.ts";
import type { MillraceProcess } from "../../support/millrace-process.ts";
import {
  createPipeline,
  postOnce,
  untilCompletedOnce,
  type Pipeline,
} from "../../support/pipeline.ts";
import { withRedis } from "../../support/redis-client.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

// What bounds a write to an event store, and a handler's run, when a server hangs. Each test goes
// through a role's own HTTP, whoever keeps the time inside: it fails when nobody does.

const CONFIG = fileURLToPath(
  new URL("../../fixtures/deadlines/millrace.config.ts", import.meta.url),
);

/** An answer takes 2 s at the most; the machine that runs all of this may be busy. A hang is longer. */
const ANSWERED_WITHIN_MS = 4_000;
/** Far less than the 800 ms that an ingress gives its first store: that one is not asked any more. */
const AT_ONCE_MS = 400;
/** Longer than a store that failed is left alone, and over within 5 s: a silent socket is given up then. */
const LOAD_MS = 1_500;

type Source = "acme" | "patient";

interface Outage {
  readonly what: string;
  readonly source: Source;
  strike(): void;
  heal(): void;
}

let servers: TestServers;
let toRedis: TcpProxy;
let toPostgres: TcpProxy;
let pipeline: Pipeline;
const acknowledged = new Set<string>();

beforeEach(async () => {
  servers = await onRedis();
  toRedis = await startTcpProxy(String(servers.redisUrl));
  toPostgres = await startTcpProxy(servers.databaseUrl);
  pipeline = await createPipeline(servers, { MILLRACE_CONFIG: CONFIG }, config);
  acknowledged.clear();
});
afterEach(async () => {
  servers?.redis?.thaw();
  await pipeline?.stop();
  await Promise.all([toRedis?.close(), toPostgres?.close()]);
  await servers?.release();
});

/** The store that `acme` has first, the queue. */
const redisHangs: readonly Outage[] = [
  {
    what: "Redis hangs",
    source: "acme",
    strike: () => servers.redis?.freeze(),
    heal: () => servers.redis?.thaw(),
  },
  {
    what: "the connection to Redis is half-open",
    source: "acme",
    strike: () => toRedis.strand(),
    // A new connection is made by itself.
    heal: () => {},
  },
];

/** The store that `patient` has first, the ledger. */
const commitHangs: Outage = {
  what: "every COMMIT hangs",
  source: "patient",
  strike: () => toPostgres.strandAfter("COMMIT"),
  heal: () => toPostgres.strandAfter(undefined),
};

const postgresHangs: Outage = {
  what: "Postgres hangs",
  source: "patient",
  strike: () => toPostgres.freeze(),
  heal: () => toPostgres.thaw(),
};

describeOnRedis("an ingress with one event store", () => {
  test.each([
    ...redisHangs.map((outage) => ({ ...outage, without: "DATABASE_URL" })),
    { ...commitHangs, without: "REDIS_URL" },
  ])("answers 503 in time while $what", async ({ source, strike, heal, without }) => {
    const ingress = await startIngress({ [without]: "" });
    await untilTaken(ingress, source, "before");
    strike();
    const answers = await deliverTogether(ingress, source, "while");
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    heal();
    await untilTaken(ingress, source, "after");
    await pipeline.start("worker", without === "REDIS_URL" ? { REDIS_URL: "" } : {});
    await expectCompletedOnce();
  });
});

describeOnRedis("an ingress with two event stores", () => {
  test.each([...redisHangs, commitHangs, postgresHangs])(
    "takes events into the other one in time while $what, and soon at once",
    async ({ source, strike, heal }) => {
      const ingress = await startIngress();
      await pipeline.start("worker");
      await untilTaken(ingress, source, "before");
      strike();
      const first = await deliverTogether(ingress, source, "first");
      expect(first.filter(({ status }) => status >= 300)).toEqual([]);
      expect(slowest(first)).toBeLessThan(ANSWERED_WITHIN_MS);
      const later = await deliverFor(ingress, source, LOAD_MS);
      expect(later.filter(({ status }) => status >= 300)).toEqual([]);
      expect(median(later)).toBeLessThan(AT_ONCE_MS);
      // Most of the time would be theirs if the store were asked again after each rest.
      const slow = later.filter(({ tookMs }) => tookMs > AT_ONCE_MS);
      expect(sumOf(slow)).toBeLessThan(sumOf(later) / 2);
      heal();
      await untilTaken(ingress, source, "after");
      await expectCompletedOnce();
    },
  );
});

describeOnRedis("a worker ends an attempt that Postgres no longer answers", () => {
  test("in the handler's time when the event's row is being locked, and the retry completes the event once", async () => {
    const ingress = await startIngress();
    await startWorker(RECORDED_FIRST);
    toPostgres.strandAfter("millrace_lock");
    await take(ingress, "evt_1", "test.effect");
    await until(() => toPostgres.struck > 0, { what: "a lock that hangs" });
    toPostgres.strandAfter(undefined);
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    await expectCompletedOnce();
  });

  test("in a statement's time when its COMMIT was sent, and takes it neither for done nor for failed", async () => {
    const ingress = await startIngress();
    await startWorker(RECORDED_FIRST);
    toPostgres.strandAfter("millrace_settle");
    await take(ingress, "evt_1", "test.effect");
    await until(() => toPostgres.struck > 0, { what: "a COMMIT that hangs" });
    toPostgres.strandAfter(undefined);
    await expectCompletedOnce();
    const { rows } = await pipeline.database.query(
      `select e.attempts, (select count(*)::int from millrace.attempts) as failures
       from millrace.events e where e.event_id = 'evt_1'`,
    );
    expect(rows).toEqual([{ attempts: 1, failures: 0 }]);
  });

  test.each([
    ["is admitted", "millrace_admit"],
    ["is completed", "millrace_complete_first"],
  ])("also in a first attempt that %s, and the event completes once", async (_, statement) => {
    const ingress = await startIngress();
    await startWorker();
    toPostgres.strandAfter(statement);
    await take(ingress, "evt_1", "test.effect");
    await until(() => toPostgres.struck > 0, { what: "a statement that hangs" });
    toPostgres.strandAfter(undefined);
    await expectCompletedOnce();
  });
});

describeOnRedis("a worker ends the attempt of a handler that goes on and on", () => {
  test("while Redis hangs, and the retry completes the event once", async () => {
    const ingress = await startIngress();
    const worker = await startWorker();
    await untilInHandler(worker, await take(ingress, "evt_1", "test.never_ends"));
    servers.redis?.freeze();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    servers.redis?.thaw();
    await expectCompletedOnce();
  });

  test("while its connection to Postgres is half-open, and the retry completes the event once", async () => {
    const ingress = await startIngress();
    const worker = await startWorker();
    await untilInHandler(worker, await take(ingress, "evt_1", "test.asks_on"));
    toPostgres.strand();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
    await expectCompletedOnce();
  });

  test("also while other events' COMMITs hang, and each event completes once", async () => {
    const ingress = await startIngress();
    const worker = await startWorker();
    await untilInHandler(worker, await take(ingress, "evt_1", "test.never_ends"));
    toPostgres.strandAfter("COMMIT");
    for (const n of [2, 3, 4]) await take(ingress, `evt_${n}`, "test.effect");
    await until(() => toPostgres.struck > 0, { what: "a COMMIT that hangs" });
    toPostgres.strandAfter(undefined);
    await expectCompletedOnce();
    expect(await failureOf("evt_1")).toMatchObject({ code: "handler_timeout", attempt: 1 });
  });
});

const startIngress = (over: Readonly<Record<string, string>> = {}): Promise<MillraceProcess> =>
  pipeline.start("ingress", { REDIS_URL: toRedis.url, DATABASE_URL: toPostgres.url, ...over });

const startWorker = (over: Readonly<Record<string, string>> = {}): Promise<MillraceProcess> =>
  pipeline.start("worker", { DATABASE_URL: toPostgres.url, ...over });
/** Every attempt is recorded before it is made. */
const RECORDED_FIRST = { MILLRACE_GROUPS: "off" };

/** A delivery's answer, and how long it took. */
interface Timed {
  readonly status: number;
  readonly tookMs: number;
}

async function deliver(
  ingress: MillraceProcess,
  source: Source,
  id: string,
  type = "test.effect",
): Promise<Timed> {
  const beganMs = performance.now();
  const { status } = await postOnce(ingress.url, { id, type, source });
  if (status < 300) acknowledged.add(id);
  return { status, tookMs: performance.now() - beganMs };
}

function deliverTogether(ingress: MillraceProcess, source: Source, name: string) {
  const ids = Array.from({ length: 10 }, (_, n) => `${name}_${n}`);
  return Promise.all(ids.map((id) => deliver(ingress, source, id)));
}

/** Delivers one event after another for so long. */
async function deliverFor(ingress: MillraceProcess, source: Source, loadMs: number) {
  const beganMs = performance.now();
  const answers: Timed[] = [];
  while (performance.now() - beganMs < loadMs) {
    answers.push(await deliver(ingress, source, `later_${answers.length}`));
  }
  return answers;
}

/** Delivers events until one is taken into the source's own first store. */
async function untilTaken(ingress: MillraceProcess, source: Source, name: string) {
  let tries = 0;
  await until(
    async () => {
      tries += 1;
      const { status, tookMs } = await deliver(ingress, source, `${name}_${tries}`);
      return status < 300 && tookMs < AT_ONCE_MS;
    },
    { what: `an event of ${source} taken at once` },
  );
}

/** Gives the id of an event that was taken. */
async function take(ingress: MillraceProcess, id: string, type: string): Promise<string> {
  await until(async () => (await deliver(ingress, "acme", id, type)).status < 300);
  return id;
}

const slowest = (answers: readonly Timed[]): number =>
  Math.max(...answers.map(({ tookMs }) => tookMs));

const sumOf = (answers: readonly Timed[]): number =>
  answers.reduce((sum, { tookMs }) => sum + tookMs, 0);

const median = (answers: readonly Timed[]): number =>
  answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)[answers.length >> 1] ?? NaN;

const untilInHandler = (worker: MillraceProcess, id: string) =>
  until(() => worker.output().includes(`in the handler of ${id}\n`), {
    what: `the handler of ${id} begun`,
  });

/** The first attempt that the ledger has as failed. */
async function failureOf(id: string): Promise<{ code: string; attempt: number }> {
  return await until(
    async () => {
      const { rows } = await pipeline.database.query<{ code: string; attempt: number }>(
        "select code, attempt from millrace.attempts where event_id = $1 order by attempt limit 1",
        [id],
      );
      return rows[0];
    },
    // Each half-open connection that was idle takes 12 s; a worker tries for a minute.
    { withinMs: 60_000, what: `a failed attempt of ${id}` },
  );
}

/** Waits until all that was acknowledged is completed, and expects one effect of each. */
async function expectCompletedOnce(): Promise<void> {
  const ids = [...acknowledged];
  const wrong = await untilCompletedOnce(pipeline.database, ids, { withinMs: 40_000 });
  expect(wrong).toEqual([]);
  // An attempt that nobody ends would keep its job, and a slot of its worker, for as long as it lives.
  await until(async () => (await activeJobs()) === 0, {
    withinMs: 30_000,
    what: "no job active in the queue",
  });
}

function activeJobs(): Promise<number> {
  return withRedis(String(servers.redisUrl), async (client) => {
    const keys = ["acme", "patient"].map((source) => `bull:millrace-${source}:active`);
    const counts = await Promise.all(keys.map((key) => client.llen(key)));
    return counts.reduce((sum, count) => sum + count, 0);
  });
}
