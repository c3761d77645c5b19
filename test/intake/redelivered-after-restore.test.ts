import { makeQueueKey } from "@millrace/core";
import { defineConfig, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { copyDatabase } from "../support/scratch-database.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

const ran: string[] = [];
const config = defineConfig({
  sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
  handlers: ["acme", "patient"].map((source) =>
    on(source, "*", ({ id }) => {
      ran.push(id);
      return Promise.resolve();
    }),
  ),
  reconciler: { intervalMs: 200, graceMs: 0 },
});

describeOnRedis("an event that Postgres has lost", () => {
  const env = { MILLRACE_QUEUE_KEY: makeQueueKey() };
  const stack = openForAll(() => startStack(onRedis, { env, config, worker: false }));

  const send = async (id: string, source: "acme" | "patient") => {
    const { status } = await post(stack.ingress.url, { id, type: "test.effect", source });
    return status;
  };
  const statusOf = async (id: string) => (await eventOf(stack.pipeline.database, id))?.status;
  const passes = async () => {
    const { rows } = await stack.pipeline.database.query(
      "select min(pass)::int from millrace.queue_epochs",
    );
    return rows[0].min as number;
  };
  const untilPassed = async () => {
    const before = await passes();
    await until(async () => (await passes()) > before);
  };
  const runs = (id: string) => ran.filter((each) => each === id).length;

  test.each(["acme", "patient"] as const)("runs when delivered again, from %s", async (source) => {
    const kept = `msg_kept_${source}`;
    const lost = `msg_lost_${source}`;
    let worker = await stack.pipeline.startInProcess("worker");
    await send(kept, source);
    await until(async () => (await statusOf(kept)) === "completed");
    const copy = await copyDatabase(stack.servers.databaseUrl);
    await send(lost, source);
    await until(async () => (await statusOf(lost)) === "completed");
    await untilPassed();
    await worker.close();
    await copy.restore();
    expect(await until(() => statusOf(kept))).toBe("completed");
    expect(await statusOf(lost)).toBeUndefined();

    expect(await send(kept, source)).toBe(200);
    await send(lost, source);
    expect(await statusOf(lost)).toBe("pending");
    worker = await stack.pipeline.startInProcess("worker");
    await until(async () => (await statusOf(lost)) === "completed");
    expect([runs(kept), runs(lost)]).toEqual([1, 2]);
    await worker.close();
    await copy.drop();
  });

  test("does not run from a completed job that somebody has edited", async () => {
    let worker = await stack.pipeline.startInProcess("worker");
    await until(async () => (await passes()) > 1);
    const copy = await copyDatabase(stack.servers.databaseUrl);
    await send("msg_edited_1", "acme");
    await until(async () => (await statusOf("msg_edited_1")) === "completed");
    await untilPassed();
    await worker.close();
    await withQueue(stack.servers, "acme", async (queue) => {
      const job = await until(() => queue.getJob("msg_edited_1"));
      await job.updateData({ ...job.data, mac: "A".repeat(43) });
    });
    await copy.restore();
    const restored = await until(passes);
    worker = await stack.pipeline.startInProcess("worker");
    await until(async () => (await passes()) > restored + 1);
    expect(await statusOf("msg_edited_1")).toBeUndefined();
    expect(runs("msg_edited_1")).toBe(1);
    await worker.close();
    await copy.drop();
  });
});
