import { expect, onTestFinished, test } from "vitest";
import { startSenders } from "../integration/senders.ts";
import {
  createTwoStorePipeline,
  deliver,
  readiness,
  untilReady,
} from "../integration/two-stores.ts";
import { describeOnSlowDisk } from "../support/describe-on-servers.ts";
import { metricByLabels } from "../support/metrics.ts";
import { untilCompletedOnce } from "../support/pipeline.ts";
import { withRedis } from "../support/redis-client.ts";
import { startRedis } from "../support/redis.ts";
import { migratedDatabase } from "../support/scratch-database.ts";
import { createSlowDisk } from "../support/slow-disk.ts";
import { until } from "../support/until.ts";

const RISK = "millrace_ingress_queue_at_risk";

async function startOnSlowDisk() {
  const disk = createSlowDisk(800);
  const [redis, database] = await Promise.all([startRedis({ env: disk.env }), migratedDatabase()]);
  const urls = { databaseUrl: database.url, redisUrl: redis.url };
  const pipeline = await createTwoStorePipeline(urls);
  onTestFinished(async () => {
    await pipeline.stop();
    await Promise.all([redis.stop(), database.drop()]);
    disk.remove();
  });
  const ingress = await pipeline.startInProcess("ingress");
  await untilReady(ingress, "ready");
  const load = (source: string) =>
    startSenders((id) => deliver(ingress, source, { id }), { pauseMs: 5 });
  const risk = async () =>
    (await metricByLabels(ingress.url, RISK)).get('reason="redis_disk_slow"');
  const untilSeen = () => until(async () => (await risk()) === 1, { withinMs: 10_000 });
  return { disk, redis, pipeline, ingress, load, risk, untilSeen };
}

// Without a worker: what Redis loses, nobody else has.
describeOnSlowDisk("a Redis whose fsync takes 800 ms", () => {
  test("the ledger takes the events, and a killed Redis loses none of them", async () => {
    const { disk, redis, pipeline, ingress, load, risk, untilSeen } = await startOnSlowDisk();
    const senders = load("fast");
    await senders.more(200);
    expect(await risk()).toBe(0);

    disk.slowDown();
    await untilSeen();
    expect(await readiness(ingress)).toMatchObject({
      ...{ httpStatus: 200, status: "degraded", stores: { ledger: 5 } },
      parts: { queue: "redis_disk_slow", ledger: "ok" },
    });
    // Those that were sent to Redis before are answered.
    await senders.more(16);
    const before = new Set(senders.acknowledged());
    await senders.moreAcknowledged(300);
    await redis.kill();
    await senders.stop();
    disk.speedUp();
    await redis.restart();

    await pipeline.startInProcess("worker");
    const safe = senders.acknowledged().filter((id) => !before.has(id));
    expect(await untilCompletedOnce(pipeline.database, safe)).toEqual([]);
    await untilReady(ingress, "ready");
  });

  // The limit that P1 names, and the proof that this disk loses events.
  test.each([
    ["fast", "what Redis confirmed before it was seen is lost when it dies in that moment", true],
    ["safe", "nothing of what the ledger took first is lost, whenever Redis dies", false],
  ])("source %s: %s", async (source, _, loses) => {
    const { disk, redis, pipeline, load, untilSeen } = await startOnSlowDisk();
    const senders = load(source);
    await senders.more(200);
    disk.slowDown();
    await untilSeen();
    await redis.kill();
    const acknowledged = senders.acknowledged();
    await senders.stop();
    disk.speedUp();
    await redis.restart();
    const keys = await withRedis(redis.url, (client) => client.keys(`bull:millrace-${source}:*`));
    const { rows } = await pipeline.database.query("select event_id from webhook_events");
    const jobs = keys.map((key) => key.split(":").at(-1));
    const there = new Set([...jobs, ...rows.map(({ event_id: id }) => id)]);
    const lost = acknowledged.filter((id) => !there.has(id));
    expect(lost.length > 0).toBe(loses);
    expect(lost.length).toBeLessThan(0.5 * acknowledged.length);
  });
});
