import { openIngress, openWorker } from "@millrace/connect";
import {
  connectionHint,
  makeQueueKey,
  parseConfig,
  readEnvironment,
  type ConfigInput,
} from "@millrace/core";
import { checkRedis } from "@millrace/queue";
import { afterEach, expect, onTestFinished, test } from "vitest";
import config from "../fixtures/two-stores/millrace.config.ts";
import { startSenders } from "../integration/senders.ts";
import {
  createTwoStorePipeline,
  deliver,
  readiness,
  untilReady,
} from "../integration/two-stores.ts";
import { untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { makePrivateCa } from "../support/private-ca.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
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

  test("a URL that does not fit is refused with what to set", async () => {
    await start();
    const misnamed = checkRedis(sentinels.url.replace("/main?", "/mian?"), strict);
    await expect(misnamed).rejects.toMatchObject({
      code: "redis_topology",
      message: expect.stringContaining('Sentinel knows no primary named "mian"'),
    });
    const [port = 0] = sentinels.sentinelPorts;
    const url = `redis://:sentinel-s3cret@127.0.0.1:${port}`;
    await expect(checkRedis(url, strict)).rejects.toMatchObject({
      code: "redis_topology",
      message: expect.stringContaining("redis+sentinel://"),
    });
    // A wrong password may become right: a role waits.
    const wrong = sentinels.url.replace("sentinel-s3cret", "wrong");
    const refusal = await checkRedis(wrong, strict).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "redis_unreachable" });
    expect(String(refusal)).not.toContain("wrong");
    const ofSentinels = "Check sentinelUsername and sentinelPassword in REDIS_URL";
    expect(connectionHint(refusal)).toBe(ofSentinels);
    const without = sentinels.url.replace(/\?.*/, "");
    const unnamed = await checkRedis(without, strict).catch((error: unknown) => error);
    expect(connectionHint(unnamed)).toBe(ofSentinels);
    const ofRedis = sentinels.url.replace("redis-s3cret", "wrong");
    const refused = await checkRedis(ofRedis, strict).catch((error: unknown) => error);
    expect(connectionHint(refused)).toBe("Check the user and password in REDIS_URL");
    const gone = sentinels.url.replace(String(port), "1");
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

describeOnRedis("a REDIS_URL that does not fit", () => {
  test.each([
    ["a node of a Redis Cluster", () => ["--cluster-enabled", "yes"]],
    ["a replica", (port: number) => ["--replicaof", "127.0.0.1", String(port)]],
  ])("%s: neither ingress nor worker opens its stores", async (_, argsOf) => {
    const primary = await startRedis();
    const redis = await startRedis({ args: argsOf(primary.port) });
    const db = await migratedDatabase();
    onTestFinished(async () => {
      await Promise.all([primary.stop(), redis.stop(), db.drop()]);
    });
    const environment = readEnvironment({ DATABASE_URL: db.url, REDIS_URL: redis.url });
    const parsed = parseConfig(config);
    const ofIngress = openIngress(environment, parsed, {});
    const ofWorker = openWorker(environment, parsed);
    const refused = expect.objectContaining({ code: "redis_topology" });
    await expect(ofIngress.opened).rejects.toEqual(refused);
    await expect(ofWorker.opened).rejects.toEqual(refused);
    await Promise.all([ofIngress.close(), ofWorker.close()]);
  });
});
