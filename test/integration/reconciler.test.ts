import { expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { readMetric } from "../support/metrics.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

const EVENTS = 25;

onEachBackend(
  "the queue loses everything, and then the worker dies that reconciles:",
  (prepare) => {
    const stack = openForAll(() => startStack(prepare, { worker: false }));

    const count = async (query: string): Promise<number> => {
      const { rows } = await stack.pipeline.database.query(
        `SELECT count(*)::int AS n FROM ${query}`,
      );
      return rows[0].n;
    };

    test("every pending event completes once", async () => {
      const { pipeline, ingress, servers } = stack;
      const leader = await pipeline.start("worker");
      await until(async () => (await readMetric(leader.url, "millrace_reconciler_leader")) === 1);
      const other = await pipeline.startInProcess("worker");
      for (let index = 0; index < EVENTS; index += 1) {
        const event = { id: `evt_flush_${index}`, type: "test.until_mended" };
        expect((await post(ingress.url, { ...event, source: "patient" })).status).toBe(202);
      }
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
