import { expect, onTestFinished, test } from "vitest";
import { startSenders } from "../integration/senders.ts";
import { createTwoStorePipeline, deliver, untilReady } from "../integration/two-stores.ts";
import { metricByLabels } from "../support/metrics.ts";
import { untilCompletedOnce } from "../support/pipeline.ts";
import { untilReplicating, withRedis } from "../support/redis-client.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { migratedDatabase } from "../support/scratch-database.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

const LAG_MS = 1_000;
const STORE = "millrace_ingress_active_store";

async function startPair({ withReplica = true } = {}) {
  const primary = await startRedis();
  const front = await startTcpProxy(primary.url);
  const link = await startTcpProxy(primary.url);
  const args = ["--replicaof", "127.0.0.1", String(link.port)];
  const replica = withReplica ? await startRedis({ args }) : undefined;
  const database = await migratedDatabase();
  const urls = { databaseUrl: database.url, redisUrl: front.url };
  onTestFinished(async () => {
    await Promise.all([primary.stop(), replica?.stop(), front.close(), link.close()]);
    await database.drop();
  });
  if (replica !== undefined) {
    await untilReplicating(replica.url);
  }
  return {
    ...{ urls, primary, front, link },
    failOver: async () => {
      if (replica === undefined) throw new Error("Cannot fail over: there is no replica");
      link.refuse();
      front.refuse();
      await primary.kill();
      await withRedis(replica.url, (client) => client.call("REPLICAOF", "NO", "ONE"));
      front.retarget(replica.url);
      front.admit();
    },
  };
}

async function startIngress({ urls }: Awaited<ReturnType<typeof startPair>>, replicas = 0) {
  const pipeline = await createTwoStorePipeline(urls, { settings: { queue: { replicas } } });
  onTestFinished(() => pipeline.stop());
  return { pipeline, ingress: await pipeline.startInProcess("ingress") };
}

async function lostIn(source: string, replicas: number): Promise<number> {
  const pair = await startPair();
  const { pipeline, ingress } = await startIngress(pair, replicas);
  await untilReady(ingress, "ready");
  pair.link.lag(LAG_MS);
  const senders = startSenders((id) => deliver(ingress, source, { id }), { pauseMs: 10 });
  await senders.moreAcknowledged(400);
  const acknowledged = senders.acknowledged();
  await pair.failOver();
  await senders.stop();

  await until(async () => (await deliver(ingress, source, { id: "evt_last" })).status === 202);
  await pipeline.startInProcess("worker");
  const count = async (what: string) => {
    const { rows } = await pipeline.database.query(
      `select count(*)::int from webhook_events where ${what} and event_id = any($1)`,
      [[...acknowledged, "evt_last"]],
    );
    return rows[0].count as number;
  };
  await until(() => count("event_id = 'evt_last' and status = 'completed'"));
  // What is known is completed; of the rest nobody knows.
  await until(async () => {
    const [known, completed] = await Promise.all([count("true"), count("status = 'completed'")]);
    const jobs = await withRedis(pair.urls.redisUrl, (client) =>
      client.llen(`bull:millrace-${source}:wait`),
    );
    return known === completed && jobs === 0;
  });
  const lost = acknowledged.length + 1 - (await count("status = 'completed'"));
  const { rows } = await pipeline.database.query(
    "select event_id from effects group by 1 having count(*) > 1",
  );
  expect(rows).toEqual([]);
  return lost;
}

describeOnRedis("a failover to a replica that is a second behind", () => {
  test.each([
    ["the last second of the queue, where no replica must have it", "fast", 0, true],
    ["nothing with queue.replicas: 1", "fast", 1, false],
    ["nothing of what the ledger took first", "safe", 0, false],
  ])("loses %s", async (_what, source, replicas, loses) => {
    expect((await lostIn(source, replicas)) > 0).toBe(loses);
  });
});

describeOnRedis("queue.replicas: 1", () => {
  test("with a replica in step the queue takes the events, and Redis' own count of WAIT moves", async () => {
    const pair = await startPair();
    const { pipeline, ingress } = await startIngress(pair, 1);
    await untilReady(ingress, "ready");
    const senders = startSenders((id) => deliver(ingress, "fast", { id }));
    await senders.moreAcknowledged(200);
    await senders.stop();
    const { rows } = await pipeline.database.query("select 1 from webhook_events");
    // A machine that is busy may keep the replica from answering in time.
    expect(rows.length).toBeLessThan(0.1 * senders.all.length);
    const stats = await withRedis(pair.primary.url, (client) => client.info("commandstats"));
    expect(Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1])).toBeGreaterThan(10);
  });

  test("without a replica the ledger takes the events at once, and workers get them", async () => {
    const pair = await startPair({ withReplica: false });
    const { pipeline, ingress } = await startIngress(pair, 1);
    await pipeline.startInProcess("worker");
    // The ledger may be the store in use before it is known why.
    await until(async () => {
      const { parts } = await untilReady(ingress, "degraded");
      return parts?.["queue"] === "redis_no_replica";
    });
    expect(await untilReady(ingress, "degraded")).toMatchObject({
      ...{ httpStatus: 200, stores: { ledger: 5 } },
      parts: { queue: "redis_no_replica", ledger: "ok" },
    });
    const senders = startSenders((id) => deliver(ingress, "fast", { id }));
    await senders.moreAcknowledged(200);
    await senders.stop();
    expect(new Set(senders.all.map(({ answer }) => answer))).toEqual(new Set([202]));
    expect(await untilCompletedOnce(pipeline.database, senders.acknowledged())).toEqual([]);
    const active = await metricByLabels(ingress.url, STORE);
    expect(active.get('source="fast",store="ledger"')).toBe(1);
    const stats = await withRedis(pair.primary.url, (client) => client.info("commandstats"));
    expect(Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1] ?? 0)).toBeLessThan(5);
  });
});

describeOnRedis("a primary that becomes a replica under its clients", () => {
  test("answers READONLY once: ingress and worker go to where the name points by then", async () => {
    const pair = await startPair();
    const other = await startRedis();
    onTestFinished(() => other.stop());
    const { pipeline, ingress } = await startIngress(pair);
    await pipeline.startInProcess("worker");
    await untilReady(ingress, "ready");
    const senders = startSenders((id) => deliver(ingress, "fast", { id }), { pauseMs: 5 });
    await senders.moreAcknowledged(100);
    pair.front.retarget(other.url, { cut: false });
    await withRedis(pair.primary.url, (client) =>
      client.call("REPLICAOF", "127.0.0.1", String(other.port)),
    );
    await senders.moreAcknowledged(300);
    await senders.stop();
    const late = senders.acknowledged().slice(-100);
    expect(await untilCompletedOnce(pipeline.database, late)).toEqual([]);
    const added = await withRedis(other.url, (client) => client.keys("bull:millrace-fast:*"));
    expect(added.length).toBeGreaterThan(50);
  });
});
