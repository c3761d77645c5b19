import { connectionHint, makeQueueKey, type ConfigInput } from "@millrace/core";
import { checkRedis } from "@millrace/queue";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { startSenders } from "../integration/senders.ts";
import {
  createTwoStorePipeline,
  deliver,
  readiness,
  untilReady,
} from "../integration/two-stores.ts";
import { untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { makePrivateCa } from "../support/private-ca.ts";
import { describeOnRedis } from "../support/redis.ts";
import { millrace } from "../support/run-in-process.ts";
import { migratedDatabase, type TestDatabase } from "../support/scratch-database.ts";
import { startSentinels, type SentinelSetup } from "../support/sentinel.ts";
import { until } from "../support/until.ts";

const ANSWERED_WITHIN_MS = 8_000;
const SECURE = { MILLRACE_QUEUE_KEY: makeQueueKey() };
const strict = { allowVolatile: false };

describeOnRedis("Redis behind Sentinel", () => {
  let sentinels: SentinelSetup;
  let database: TestDatabase;
  let pipeline: Pipeline;

  async function start(options: { lagMs?: number; settings?: Partial<ConfigInput> } = {}) {
    [sentinels, database] = await Promise.all([startSentinels(options), migratedDatabase()]);
    const urls = { databaseUrl: database.url, redisUrl: sentinels.url };
    const { settings = {} } = options;
    pipeline = await createTwoStorePipeline(urls, { env: SECURE, settings });
    const ingress = await pipeline.startInProcess("ingress");
    await pipeline.startInProcess("worker");
    await untilReady(ingress, "ready");
    return ingress;
  }
  async function completes(ingress: { url: string }, id: string): Promise<void> {
    expect((await deliver(ingress, "fast", { id })).status).toBe(202);
    expect(await untilCompletedOnce(pipeline.database, [id])).toEqual([]);
  }
  afterEach(async () => {
    sentinels?.servers[0].thaw();
    await pipeline?.stop();
    await Promise.all([sentinels?.stop(), database?.drop()]);
  });

  test.each([
    ["in step", 0],
    ["a second behind", 1_000],
  ])(
    "a failover under load to a replica that is %s, with queue.replicas: 1: every event once",
    async (_, lagMs) => {
      const ingress = await start({ lagMs, settings: { queue: { replicas: 1 } } });
      const senders = startSenders((id) => deliver(ingress, "fast", { id }), { pauseMs: 10 });
      await senders.moreAcknowledged(300);
      await sentinels.failOver();
      // There is no replica until the old primary is back.
      const dark = await until(async () => {
        const answer = await readiness(ingress);
        return answer.parts["queue"] === "redis_no_replica" ? answer : undefined;
      });
      expect(dark).toMatchObject({ status: "degraded", stores: { ledger: 5 } });
      await senders.moreAcknowledged(200);
      await sentinels.bringBack();
      await untilReady(ingress, "ready");
      await senders.moreAcknowledged(200);
      await senders.stop();
      expect(await untilCompletedOnce(pipeline.database, senders.acknowledged())).toEqual([]);
      expect(senders.slowestMs()).toBeLessThan(ANSWERED_WITHIN_MS);
      expect(await checkRedis(sentinels.url, strict)).toMatchObject({ replicas: 1 });
    },
  );

  test("a primary that hangs: a worker's blocking read does not wait for it", async () => {
    const ingress = await start();
    await completes(ingress, "evt_before");
    const [hung] = sentinels.servers;
    hung.freeze();
    await until(async () => (await sentinels.primary()) === 1);
    const failedOverMs = performance.now();
    await untilReady(ingress, "ready");
    await completes(ingress, "evt_after");
    // Its socket would be silent for half a minute.
    expect(performance.now() - failedOverMs).toBeLessThan(20_000);
    hung.thaw();
    await until(async () => (await checkRedis(sentinels.url, strict)).replicas === 1);
    await completes(ingress, "evt_later");
  });

  test("a password of Redis that is wrong is named, and a Sentinel that is gone is passed over", async () => {
    await start();
    const ofRedis = sentinels.url.replace("redis-s3cret", "wrong");
    const refused = await checkRedis(ofRedis, strict).catch((error: unknown) => error);
    expect(connectionHint(refused)).toBe("Check the user and password in REDIS_URL");
    const gone = sentinels.url.replace(String(sentinels.sentinelPorts[0]), "1");
    expect(await checkRedis(gone, strict)).toMatchObject({ aof: true });
  });
});

describeOnRedis("Redis behind Sentinel, with TLS by a private CA", () => {
  test("events run before and after a failover, and without the CA nothing is reached", async () => {
    const ca = makePrivateCa();
    onTestFinished(() => ca.remove());
    const [sentinels, database] = await Promise.all([
      startSentinels({ tls: ca }),
      migratedDatabase(),
    ]);
    onTestFinished(async () => {
      await Promise.all([sentinels.stop(), database.drop()]);
    });
    expect(sentinels.url).toMatch(/^rediss\+sentinel:/);
    const urls = { databaseUrl: database.url, redisUrl: sentinels.url };
    const env = { ...SECURE, REDIS_CA_FILE: ca.caFile };
    const pipeline = await createTwoStorePipeline(urls, { env });
    onTestFinished(() => pipeline.stop());
    const ingress = await pipeline.startInProcess("ingress");
    await pipeline.startInProcess("worker");
    await untilReady(ingress, "ready");
    const senders = startSenders((id) => deliver(ingress, "fast", { id }), { pauseMs: 10 });
    await senders.moreAcknowledged(100);
    await sentinels.failOver();
    await untilReady(ingress, "ready");
    await senders.moreAcknowledged(100);
    await senders.stop();
    expect(await untilCompletedOnce(pipeline.database, senders.acknowledged())).toEqual([]);
    const { stdout } = await millrace(["doctor"], { env: pipeline.env });
    expect(stdout).toMatch(/^ok +queue +Redis .* \(appendfsync everysec\)/m);
    expect(stdout).toMatch(/^Ledger and queues agree \(\d+ looked at\)\.$/m);

    const unknown = await checkRedis(sentinels.url, strict).catch((error: unknown) => error);
    expect(unknown).toMatchObject({ code: "redis_unreachable" });
    expect(connectionHint(unknown)).toContain("name a private CA in REDIS_CA_FILE");
  });
});
