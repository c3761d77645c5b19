import type { EventJob, JobResult } from "@millrace/core";
import { queueName, type Queues } from "@millrace/queue";
import { UnrecoverableError, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { COMPLETED, event, quickWorker, workOn } from "../support/queue-fixture.ts";
import { callsOf, contentsOfRedis } from "../support/redis-contents.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { openQueuesOnRedis, type QueuesOnRedis } from "./queues-on-redis.ts";

const JOBS = 12;
const AT_ONCE = 4;
const PREFIX = `bull:${queueName("acme")}:`;

interface Side extends QueuesOnRedis {
  endActive(): Promise<void>;
}

describeOnRedis("finishing jobs", () => {
  const sides: Side[] = [];
  let ours: Side;

  beforeEach(async () => {
    ours = await open(workWithOurs);
  });
  afterEach(async () => {
    for (const side of sides.splice(0)) await side.close();
  });

  async function open(work: typeof workWithOurs): Promise<Side> {
    const on = await openQueuesOnRedis("worker");
    const { client, queues } = on;
    await queues.enqueue(
      Array.from({ length: JOBS }, (_, index) =>
        event(`evt_${String(index).padStart(2, "0")}`, { acceptedAtMs: 1 }),
      ),
    );
    const waiting: (() => void)[] = [];
    let isClosing = false;
    // A job can be active in Redis before its worker runs it.
    const turnOf = async () => (isClosing ? undefined : await turn(waiting));
    const closeWorker = await work({ client, queues, turn: turnOf });
    const side: Side = {
      ...on,
      endActive: async () => {
        await until(() => waiting.length === AT_ONCE);
        for (const goOn of waiting.splice(0)) goOn();
      },
      close: async () => {
        isClosing = true;
        for (const goOn of waiting.splice(0)) goOn();
        await closeWorker();
        await on.close();
      },
    };
    sides.push(side);
    return side;
  }

  const scripts = () => callsOf(ours.client, "evalsha");
  const writes = () =>
    callsOf(ours.client, ..."del hincrby hmset hset lrem rpoplpush set srem xadd zadd".split(" "));
  const untilActive = () =>
    until(async () => (await ours.client.llen(`${PREFIX}active`)) === AT_ONCE);

  it("leaves in Redis what BullMQ's own worker leaves there, value for value", async () => {
    const plain = await open(workPlainly);
    for (let group = 0; group < JOBS / AT_ONCE; group += 1) {
      await ours.endActive();
      await plain.endActive();
    }
    for (const { client } of sides) {
      await until(async () => (await ended(client)) === JOBS);
      // A worker without jobs takes the marker that wakes it.
      await until(async () => (await client.exists(`${PREFIX}marker`)) === 0);
    }
    const [mine = {}, theirs = {}] = await Promise.all(
      sides.map(({ client }) => contentsOfRedis(client)),
    );
    // It expires between two looks of a worker for stalled jobs.
    for (const contents of [mine, theirs]) delete contents[`${PREFIX}stalled-check`];
    // Ours alone counts the jobs that completed by the minute, which may have changed between two groups.
    const counts = Object.keys(mine).filter((key) =>
      key.startsWith(`${PREFIX}millrace:completed:`),
    );
    const byMinute = counts.flatMap((key) => Object.values(mine[key] as Record<string, string>));
    expect(byMinute.reduce((sum, count) => sum + Number(count), 0)).toBe(JOBS - 3);
    for (const key of counts) delete mine[key];
    expect(mine).toEqual(theirs);
    expect(await ours.client.zcard(`${PREFIX}failed`)).toBe(3);
  });

  it("takes one script for all jobs that end together, which fetches the next ones too", async () => {
    await ours.endActive();
    await until(async () => (await ended(ours.client)) === AT_ONCE);
    await untilActive();
    const before = await Promise.all([scripts(), writes()]);
    await ours.endActive();
    await until(async () => (await ended(ours.client)) === 2 * AT_ONCE);
    expect((await scripts()) - before[0]).toBe(1);
    // BullMQ's own takes 13 a job.
    expect((await writes()) - before[1]).toBeLessThanOrEqual(9 * AT_ONCE + 4);
    expect(await ours.client.llen(`${PREFIX}active`)).toBe(AT_ONCE);
  });

  it("leaves a job whose lock another worker has, and finishes the others", async () => {
    await untilActive();
    await ours.client.set(`${PREFIX}evt_01:lock`, "another worker's");
    await ours.endActive();
    await until(async () => (await ended(ours.client)) === AT_ONCE - 1);
    expect(await ours.client.zscore(`${PREFIX}completed`, "evt_01")).toBeNull();
    expect(await ours.client.get(`${PREFIX}evt_01:lock`)).toBe("another worker's");
    expect(await ours.client.lrange(`${PREFIX}active`, 0, -1)).toContain("evt_01");
  });

  it("fetches nothing from a queue that is paused", async () => {
    await untilActive();
    await ours.queues.pause("acme");
    await ours.endActive();
    await until(async () => (await ended(ours.client)) === AT_ONCE);
    expect(await ours.client.llen(`${PREFIX}active`)).toBe(0);
    await ours.queues.resume("acme");
    await untilActive();
  });

  it("keeps as many completed jobs as BullMQ does, and as few old notices", async () => {
    const { client } = ours;
    await untilActive();
    const completed = (name: string, count: number, ms: number) =>
      client.zadd(
        `${PREFIX}completed`,
        ...Array.from({ length: count }, (_, index) => [ms + index, `${name}_${index}`]).flat(),
      );
    await completed("too_old", 50, 1);
    await completed("first", 2, Date.now() - 300_000);
    await completed("recent", 10_000 - 3, Date.now() - 200_000);
    const notices = client.pipeline();
    for (let at = 0; at < 3_000; at += 1) notices.xadd(`${PREFIX}events`, "*", "event", "old");
    await notices.exec();
    await ours.endActive();
    await until(async () => (await client.zscore(`${PREFIX}completed`, "evt_02")) !== null);
    expect(await client.zcount(`${PREFIX}completed`, 0, 100)).toBe(0);
    expect(await client.zcard(`${PREFIX}completed`)).toBe(10_000);
    expect(await client.zscore(`${PREFIX}completed`, "first_1")).toBeNull();
    expect(await client.zscore(`${PREFIX}completed`, "recent_0")).not.toBeNull();
    expect(await client.xlen(`${PREFIX}events`)).toBeLessThan(1_300);
  });

  it("gives one job the error of its own key, and finishes the others", async () => {
    await untilActive();
    await ours.client.set(`${PREFIX}evt_02:dependencies`, "a string where a set is expected");
    await ours.endActive();
    await until(async () => (await ended(ours.client)) >= AT_ONCE - 1);
    expect(await ours.client.zscore(`${PREFIX}completed`, "evt_02")).toBeNull();
  });
});

async function ended(client: Redis): Promise<number> {
  const counts = ["completed", "failed"].map((name) => client.zcard(PREFIX + name));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function turn(waiting: (() => void)[]): Promise<void> {
  await new Promise<void>((resolve) => waiting.push(resolve));
}

const isBad = (eventId: string) => Number(eventId.slice(-2)) % AT_ONCE === 3;

interface Work {
  readonly client: Redis;
  readonly queues: Queues;
  readonly turn: () => Promise<void>;
}

async function workWithOurs({ queues, turn: wait }: Work): Promise<() => Promise<void>> {
  const run = async ({ event: { eventId } }: EventJob): Promise<JobResult> => {
    await wait();
    return isBad(eventId) ? { kind: "failed", code: "permanent_error", message: "no" } : COMPLETED;
  };
  const { workers } = workOn(queues, run, {
    worker: quickWorker({ lockDurationMs: 30_000 }),
    concurrency: () => AT_ONCE,
    // So few that the count of jobs decides.
    keepCompletedBytes: 1_048_576,
  });
  return () => workers.close({ timeoutMs: 5_000 });
}

async function workPlainly({ client, turn: wait }: Work): Promise<() => Promise<void>> {
  const connection = client.duplicate();
  const worker = new Worker(
    queueName("acme"),
    async (job) => {
      await wait();
      if (isBad(job.id ?? "")) throw new UnrecoverableError("permanent_error: no");
      return "completed";
    },
    {
      connection,
      concurrency: AT_ONCE,
      lockDuration: 30_000,
      stalledInterval: 500,
      removeOnComplete: { age: 600, count: 10_000 },
    },
  );
  return async () => {
    await worker.close();
    connection.disconnect();
  };
}
