import { afterAll, beforeAll, expect, test } from "vitest";
import { onEachBackend, onRedis, type TestServers } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { readMetric } from "../support/metrics.ts";
import { createPipeline, post, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const EVENTS = 25;

onEachBackend(
  "the queue loses everything, and then the worker dies that reconciles:",
  (prepare) => {
    let servers: TestServers;
    let pipeline: Pipeline;

    beforeAll(async () => {
      servers = await prepare();
      pipeline = await createPipeline(servers);
    });
    afterAll(async () => {
      await pipeline?.stop();
      await servers?.release();
    });

    const count = async (query: string): Promise<number> => {
      const { rows } = await pipeline.database.query(`SELECT count(*)::int AS n FROM ${query}`);
      return rows[0].n;
    };

    test("every pending event completes once", async () => {
      const ingress = await pipeline.startInProcess("ingress");
      const leader = await pipeline.start("worker");
      await until(async () => (await readMetric(leader.url, "millrace_reconciler_leader")) === 1);
      const other = await pipeline.startInProcess("worker");
      for (let index = 0; index < EVENTS; index += 1) {
        const event = { id: `evt_flush_${index}`, type: "test.until_mended", source: "patient" };
        const { status } = await post(ingress.url, { ...event, source: "patient" });
        expect(status).toBe(202);
      }
      // Every one has failed at least once, so that it waits for its next attempt.
      await until(
        async () =>
          (await count("(SELECT DISTINCT event_id FROM millrace.attempts) AS failed")) === EVENTS,
      );

      await loseQueue(servers.redisUrl, pipeline.database);
      await leader.end("SIGKILL");
      await pipeline.database.query("INSERT INTO switches (name) VALUES ('repaired')");

      const isOver = async () =>
        (await count("webhook_events WHERE status = 'completed'")) === EVENTS;
      await until(isOver, { withinMs: 90_000 });
      expect(await count("effects")).toBe(EVENTS);
      expect(await readMetric(other.url, "millrace_reconciler_leader")).toBe(1);
      await until(async () => {
        const kinds = 'millrace_disagreements{kind="pending_without_job"';
        return (await readMetric(other.url, kinds)) === 0;
      });
    }, 150_000);
  },
);

describeOnRedis("Redis is away while events come in:", () => {
  let servers: TestServers;
  let pipeline: Pipeline;

  beforeAll(async () => {
    servers = await onRedis();
    pipeline = await createPipeline(servers);
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
  });

  test("the ledger has them, and each completes once when Redis is back", async () => {
    const ingress = await pipeline.startInProcess("ingress");
    await pipeline.startInProcess("worker");
    const ids = Array.from({ length: 100 }, (_, index) => `evt_away_${index}`);
    await until(
      async () => (await post(ingress.url, { id: "evt_first", type: "test.effect" })).status < 300,
    );
    await servers.redis?.kill();
    for (let at = 0; at < ids.length; at += 20) {
      const answers = await Promise.all(
        ids.slice(at, at + 20).map((id) => post(ingress.url, { id, type: "test.effect" })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    }
    await servers.redis?.restart();
    const all = ["evt_first", ...ids];
    expect(await untilCompletedOnce(pipeline.database, all, { withinMs: 90_000 })).toEqual([]);
  }, 150_000);
});
