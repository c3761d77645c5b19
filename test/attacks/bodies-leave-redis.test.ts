import { createLedger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { on, standardWebhooks } from "millrace";
import { expect, onTestFinished, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { post, startStack, type Stack } from "../support/pipeline.ts";
import { event, openTestQueues } from "../support/queue-fixture.ts";
import { redisText, withRedis } from "../support/redis-client.ts";
import { eventOf } from "../support/seen-events.ts";
import { until } from "../support/until.ts";

const SECRET_WORDS = "card number 4242";
const KEEP_MS = 2_000;
// A job, not the list of what happened to it.
const LEFT = new RegExp(`:"?evt_|${SECRET_WORDS}`);
const LATE_MS = 3_000;

onOneBackend("bodies of completed events", (prepare, backend) => {
  let stack: Stack;
  let queues: Queues;

  async function deliver(keepCompletedMs: number, count: number): Promise<string[]> {
    const config = {
      sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
      handlers: ["acme", "patient"].map((source) => on(source, "*", () => {})),
      queue: { keepCompletedMs },
    };
    stack = await startStack(prepare, { config, worker: false });
    queues = await openTestQueues(stack.servers, "dashboard", ["acme", "patient"]);
    onTestFinished(async () => {
      await queues.close();
      await stack.close();
    });
    const ids = Array.from({ length: count }, (_, index) => `evt_${index}`);
    for (const id of ids) await post(stack.ingress.url, { ...EVENT, id });
    return ids;
  }

  const untilCompleted = async (ids: readonly string[]) => {
    const { database } = stack.pipeline;
    for (const id of ids) await until(async () => (await eventOf(database, id))?.status === DONE);
  };
  const counts = async () => (await queues.counts()).get("acme");

  async function everythingQueued(): Promise<string> {
    const { redisUrl } = stack.servers;
    if (redisUrl !== undefined) return await withRedis(redisUrl, redisText);
    const { rows } = await stack.pipeline.database.query(
      "select to_jsonb(job) from bullmq.job job",
    );
    return JSON.stringify(rows);
  }

  test("leave when their time is up, on a source where nothing else happens", async () => {
    const ids = await deliver(KEEP_MS, 3);
    await stack.pipeline.startInProcess("worker");
    await untilCompleted(ids);
    const completedAt = Date.now();
    if (backend === "redis") expect(await everythingQueued()).toContain(SECRET_WORDS);
    await until(async () => (await counts())?.completed === 0, { withinMs: KEEP_MS + LATE_MS });
    expect(Date.now() - completedAt).toBeGreaterThan(KEEP_MS / 2);
    expect(await everythingQueued()).not.toMatch(LEFT);
  });

  test("leave in the call that completes, where none is to stay", async () => {
    const ids = await deliver(0, 30);
    let most = 0;
    await stack.pipeline.startInProcess("worker");
    await until(async () => {
      const { waiting = 0, active = 0, completed = 0 } = (await counts()) ?? {};
      most = Math.max(most, completed);
      return waiting + active === 0;
    });
    await untilCompleted(ids);
    expect(most).toBe(0);
    expect(await everythingQueued()).not.toMatch(LEFT);
    await post(stack.ingress.url, { ...EVENT, id: "evt_0" });
    await until(async () => (await counts())?.active === 0);
    expect(await eventOf(stack.pipeline.database, "evt_0")).toMatchObject({ attempts: 1 });
  });

  if (backend === "redis") {
    test("of a source of the ledger leave as soon as the ledger has them", async () => {
      await deliver(600_000, 0);
      // As an ingress enqueues while Postgres is away.
      const body = Buffer.from(JSON.stringify({ words: SECRET_WORDS }));
      const late = event("evt_outage_1", { source: "patient", body });
      expect(await queues.enqueue([late])).toEqual(["accepted"]);
      expect(await everythingQueued()).toContain(SECRET_WORDS);
      await stack.pipeline.startInProcess("worker");
      await until(async () => (await queues.findJob(late))?.state === "completed");
      expect(await everythingQueued()).not.toContain(SECRET_WORDS);
      const found = await createLedger({ pool: stack.pipeline.database }).reads.findEvent(late);
      expect(found?.payload?.text).toBe(JSON.stringify({ words: SECRET_WORDS }));
    });
  }
});

const DONE = "completed";
const EVENT = { type: "thing.happened", data: { words: SECRET_WORDS } };
