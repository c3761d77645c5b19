import { afterAll, beforeAll, expect, test } from "vitest";
import { onEachBackend, onRedis, type Ground } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const EVENTS = 25;

onEachBackend(
  "the queue loses everything, and then the worker dies that reconciles:",
  (prepare) => {
    let ground: Ground;
    let pipeline: Pipeline;

    beforeAll(async () => {
      ground = await prepare();
      pipeline = await createPipeline(ground);
    });
    afterAll(async () => {
      await pipeline?.stop();
      await ground?.release();
    });

    const metric = async (worker: { readonly url: string }, name: string): Promise<number> => {
      const text = await (await fetch(`${worker.url}/metrics`)).text();
      const line = text.split("\n").find((each) => each.startsWith(name));
      return Number(line?.split(" ").at(-1));
    };
    const count = async (query: string): Promise<number> => {
      const { rows } = await pipeline.database.query(`SELECT count(*)::int AS n FROM ${query}`);
      return rows[0].n;
    };

    test("every pending event completes once", async () => {
      const ingress = await pipeline.startInProcess("ingress");
      const leader = await pipeline.start("worker");
      await until(async () => (await metric(leader, "millrace_reconciler_leader")) === 1);
      const other = await pipeline.startInProcess("worker");
      for (let index = 0; index < EVENTS; index += 1) {
        const event = { id: `evt_flush_${index}`, type: "test.until_mended", source: "patient" };
        const { status } = await post(ingress.url, { ...event, source: "patient" });
        expect(status).toBe(202);
      }
      // Every one has failed at least once, so that it waits for its next attempt.
      await until(async () => (await count("millrace.attempts WHERE attempt = 1")) === EVENTS);

      await loseQueue(ground.redisUrl, pipeline.database);
      await leader.end("SIGKILL");
      await pipeline.database.query("INSERT INTO switches (name) VALUES ('mended')");

      const isOver = async () =>
        (await count("webhook_events WHERE status = 'completed'")) === EVENTS;
      await until(isOver, { withinMs: 90_000 });
      expect(await count("effects")).toBe(EVENTS);
      expect(await metric(other, "millrace_reconciler_leader")).toBe(1);
      expect(
        await metric(other, 'millrace_reconciler_repaired_total{kind="pending_without_job"'),
      ).toBeGreaterThan(0);
      await until(async () => {
        const kinds = 'millrace_disagreements{kind="pending_without_job"';
        return (await metric(other, kinds)) === 0;
      });
    }, 150_000);
  },
);

describeOnRedis("Redis is away while events come in:", () => {
  let ground: Ground;
  let pipeline: Pipeline;

  beforeAll(async () => {
    ground = await onRedis();
    pipeline = await createPipeline(ground);
  });
  afterAll(async () => {
    await pipeline?.stop();
    await ground?.release();
  });

  test("the ledger has them, and each completes once when Redis is back", async () => {
    const ingress = await pipeline.startInProcess("ingress");
    await pipeline.startInProcess("worker");
    const ids = Array.from({ length: 100 }, (_, index) => `evt_away_${index}`);
    await until(
      async () => (await post(ingress.url, { id: "evt_first", type: "test.effect" })).status < 300,
    );
    await ground.redis?.kill();
    for (let at = 0; at < ids.length; at += 20) {
      const answers = await Promise.all(
        ids.slice(at, at + 20).map((id) => post(ingress.url, { id, type: "test.effect" })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    }
    await ground.redis?.restart();
    const left = async () => {
      const { rows } = await pipeline.database.query(
        "SELECT count(*)::int AS n FROM webhook_events WHERE status <> 'completed'",
      );
      return rows[0].n;
    };
    await until(async () => (await left()) === 0, { withinMs: 90_000 });
    const { rows } = await pipeline.database.query(
      "SELECT count(*)::int AS all, count(DISTINCT event_id)::int AS events FROM effects",
    );
    expect(rows).toEqual([{ all: ids.length + 1, events: ids.length + 1 }]);
  }, 150_000);
});
