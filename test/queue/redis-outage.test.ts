import { connect, createServer } from "node:net";
import { createRedisQueues, type QueueNotice, type Queues } from "@millrace/queue";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listenOnLoopback } from "../support/free-port.ts";
import { COMPLETED, event, quickWorker, workOn } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const DEADLINE_MS = 400;
const SLACK_MS = 8_000;
const QUICKLY = { worker: quickWorker(), concurrency: () => 2 };
type Options = Parameters<typeof createRedisQueues>[0];

describeOnRedis("the queues while Redis is away", () => {
  let redis: TestRedis;
  let queues: Queues | undefined;
  let notices: QueueNotice[];

  beforeEach(async () => {
    redis = await startRedis();
    notices = [];
  });

  afterEach(async () => {
    redis.thaw();
    await queues?.close();
    await redis.stop();
  });

  function open(sources: readonly string[] = ["acme", "other"], over: Partial<Options> = {}) {
    queues = createRedisQueues({
      ...{ url: redis.url, sources, role: "worker", enqueueTimeoutMs: DEADLINE_MS },
      notify: (notice) => notices.push(notice),
      ...over,
    });
    return queues;
  }

  async function openReady(): Promise<Queues> {
    const opened = open();
    await until(() => opened.ping().then(() => true));
    expect(await opened.enqueue([event("evt_first")])).toEqual(["accepted"]);
    return opened;
  }

  async function setMaxmemory(bytes: string): Promise<void> {
    const client = new Redis(redis.url);
    await client.config("SET", "maxmemory", bytes);
    client.disconnect();
  }

  async function expectRefused(opened: Queues, id: string): Promise<number> {
    const started = Date.now();
    const answers = await opened.enqueue([event(id), event(id, { source: "other" })]);
    const took = Date.now() - started;
    for (const answer of answers) expect(answer).toBeInstanceOf(Error);
    expect(took).toBeLessThan(DEADLINE_MS + SLACK_MS);
    return took;
  }

  async function quickestRefusal(opened: Queues, id: string): Promise<number> {
    const took: number[] = [];
    while (took.length < 5) took.push(await expectRefused(opened, id));
    return Math.min(...took);
  }

  const untilTaken = (opened: Queues, id: string) =>
    until(async () => typeof (await opened.enqueue([event(id)]))[0] === "string");

  it("answers with errors while Redis is dead, and takes events when it is back", async () => {
    const opened = await openReady();
    await redis.kill();
    await expectRefused(opened, "evt_1");
    await expect(opened.ping()).rejects.toMatchObject({ code: "redis_unreachable" });
    expect(await quickestRefusal(opened, "evt_2")).toBeLessThan(DEADLINE_MS / 2);
    await until(() =>
      notices.some((n) => n.kind === "background_error" && n.cause === "ECONNREFUSED"),
    );
    await redis.restart();
    await untilTaken(opened, "evt_1");
    await opened.ping();
  });

  it("answers within the deadline while Redis hangs, then at once, and recovers", async () => {
    const opened = await openReady();
    redis.freeze();
    expect(await expectRefused(opened, "evt_1")).toBeGreaterThanOrEqual(DEADLINE_MS - 50);
    // Known to hang by now: nobody waits for it again.
    expect(await quickestRefusal(opened, "evt_2")).toBeLessThan(DEADLINE_MS / 2);
    await expect(opened.ping()).rejects.toMatchObject({ code: "redis_unreachable" });
    redis.thaw();
    await untilTaken(opened, "evt_3");
    await untilTaken(opened, "evt_1");
    expect((await opened.counts()).get("acme")?.waiting).toBe(3);
  });

  it.each([
    ["is slow", "Command timed out", DEADLINE_MS],
    ["dies", "Reached the max retries", 60_000],
    ["is left", "Connection is closed.", 60_000],
  ])(
    "is unreachable if it %s while a queue's mark is read",
    async (how, text, enqueueTimeoutMs) => {
      const opened = open(["acme"], { enqueueTimeoutMs });
      await until(() => opened.ping().then(() => true));
      redis.freeze();
      const claim = { ledger: "a-ledger", systemId: "", oid: "1", startedAtMs: 1 };
      const asked = Promise.allSettled([opened.readMark("acme"), opened.takeMark("acme", claim)]);
      if (how === "dies") await redis.kill();
      if (how === "is left") await opened.close();
      for (const [index, act] of ["read the mark of", "mark"].entries()) {
        const message: unknown = expect.stringContaining(`Cannot ${act} the queue: ${text}`);
        expect((await asked)[index]).toMatchObject({
          reason: { code: "redis_unreachable", message },
        });
      }
    },
  );

  it("replaces a connection that stays silent", async () => {
    const opened = await openReady();
    redis.freeze();
    await expectRefused(opened, "evt_1");
    await until(() =>
      notices.some(
        (n) => n.kind === "background_error" && n.error.message.includes("Socket timeout"),
      ),
    );
    redis.thaw();
    await untilTaken(opened, "evt_2");
  });

  it("stays usable when the first question on a new connection was not answered", async () => {
    const proxy = await startDeafProxy(redis.port, 2 * DEADLINE_MS);
    const url = `redis://127.0.0.1:${proxy.port}`;
    const opened = open(["acme"], { url, role: "ingress" });
    await until(() => proxy.deafened > 0);
    await untilTaken(opened, "evt_1");
    await opened.close();
    await proxy.close();
  });

  it.each(["dead", "hung"])("can be made while Redis is %s, with sixty sources", async (how) => {
    if (how === "dead") await redis.kill();
    else redis.freeze();
    const sources = [
      "acme",
      "other",
      ...Array.from({ length: 58 }, (_, index) => `source-${index}`),
    ];
    const since = Date.now();
    const opened = open(sources);
    await expectRefused(opened, "evt_1");
    await expect(opened.ping()).rejects.toMatchObject({ code: "redis_unreachable" });
    const { runs } = workOn(opened, () => COMPLETED, QUICKLY);
    // Long enough for the first commands on the new connection to time out.
    await until(() => Date.now() > since + 3 * DEADLINE_MS);
    if (how === "dead") await redis.restart();
    else redis.thaw();
    await untilTaken(opened, "evt_1");
    await until(async () => {
      const answers = await opened.enqueue(sources.map((source) => event("evt_2", { source })));
      return answers.every((answer) => typeof answer === "string");
    });
    await until(() => new Set(runs.map((job) => job.event.source)).size === 60);
  });

  it("rests its workers when Redis is out of memory, and works on when there is room", async () => {
    const opened = await openReady();
    await opened.enqueue([event("evt_1")]);
    await setMaxmemory("1");
    // A worker that has not yet seen its queue empty asks again at once.
    const { runs } = workOn(opened, () => COMPLETED, { concurrency: () => 2 });
    const since = Date.now();
    expect((await opened.enqueue([event("evt_2")]))[0]).toMatchObject({
      message: expect.stringContaining("OOM"),
    });
    const troubles = () => notices.filter((notice) => notice.kind === "background_error").length;
    await until(() => Date.now() > since + 4_000 && troubles() > 4);
    // Left alone, it is thousands a second, of each source.
    expect(troubles() / ((Date.now() - since) / 1_000)).toBeLessThan(25);
    expect(notices.some((notice) => notice.kind === "backed_off")).toBe(true);
    await setMaxmemory("0");
    await untilTaken(opened, "evt_2");
    await until(() => runs.length === 3);
  });

  it.each(["dead", "hung"])("closes while Redis is %s, with an endless run", async (how) => {
    const opened = await openReady();
    const { runs, workers } = workOn(opened, () => new Promise(() => {}), QUICKLY);
    await until(() => runs.length > 0);
    if (how === "dead") await redis.kill();
    else redis.freeze();
    const since = Date.now();
    await workers.close({ timeoutMs: 100 });
    await opened.close();
    expect(Date.now() - since).toBeLessThan(30_000);
  });
});

/**
 * A proxy before Redis that lets a connection become ready, and holds back the answer to the INFO
 * after that, which is BullMQ's own, for so long.
 */
async function startDeafProxy(
  redisPort: number,
  holdMs: number,
): Promise<{ port: number; readonly deafened: number; close(): Promise<void> }> {
  let deafened = 0;
  // Of all connections: a slow machine may have given the first one up.
  let infos = 0;
  const server = createServer((client) => {
    const upstream = connect(redisPort, "127.0.0.1");
    let deafUntil = 0;
    client.on("data", (chunk) => {
      infos += chunk.toString("latin1").match(/\ninfo\r/gi)?.length ?? 0;
      if (infos >= 2 && deafened === 0) {
        deafened += 1;
        deafUntil = Date.now() + holdMs;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      setTimeout(() => client.write(chunk), Math.max(0, deafUntil - Date.now()));
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("close", () => other.destroy());
      one.on("error", () => other.destroy());
    }
  });
  return {
    port: await listenOnLoopback(server),
    get deafened() {
      return deafened;
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
