import { createLedger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { Redis } from "ioredis";
import { on, standardWebhooks } from "millrace";
import { afterEach, expect, test } from "vitest";
import { onOneBackend, type TestServers } from "../support/backends.ts";
import { event, openTestQueues } from "../support/queue-fixture.ts";
import { createPipeline, post, type Pipeline } from "../support/pipeline.ts";
import { until } from "../support/until.ts";
import type { RoleInProcess } from "../support/in-process.ts";

// Somebody reads Redis: what is in it of events that have long run?

const SECRET_WORDS = "card number 4242";
const KEEP_MS = 2_000;
/** The leading worker looks once a second where jobs stay so short. */
const LATE_MS = 3_000;

onOneBackend("bodies of completed events", (prepare, backend) => {
  let servers: TestServers;
  let pipeline: Pipeline;
  let queues: Queues;

  afterEach(async () => {
    await queues?.close();
    await pipeline?.stop();
    await servers?.release();
  });

  /** Starts an ingress and a worker whose completed jobs stay for so long. */
  async function start(keepCompletedMs: number): Promise<RoleInProcess> {
    servers = await prepare();
    const config = {
      sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
      handlers: ["acme", "patient"].map((source) => on(source, "*", () => {})),
      queue: { keepCompletedMs },
    };
    pipeline = await createPipeline(servers, {}, config);
    queues = await openTestQueues(servers, "dashboard", ["acme", "patient"]);
    return await pipeline.startInProcess("ingress");
  }

  const deliver = (ingress: RoleInProcess, id: string) =>
    post(ingress.url, { id, type: "thing.happened", data: { words: SECRET_WORDS } });

  const untilCompleted = (ids: readonly string[]) =>
    until(async () => {
      const { rows } = await pipeline.database.query(
        "select count(*)::int as done from millrace.events where status = 'completed' and event_id = any($1)",
        [ids],
      );
      return rows[0].done === ids.length;
    });

  /** Every value in Redis, or in the tables of the queue on Postgres. */
  async function everythingQueued(): Promise<string> {
    if (servers.redisUrl === undefined) {
      const { rows } = await pipeline.database.query("select to_jsonb(job) as job from bullmq.job");
      return JSON.stringify(rows);
    }
    const redis = new Redis(servers.redisUrl);
    try {
      const keys = await redis.keys("*:evt_*");
      return JSON.stringify(await Promise.all(keys.map((key) => redis.hgetall(key))));
    } finally {
      await redis.quit();
    }
  }
  const completedJobs = async () => (await queues.counts()).get("acme")?.completed;

  test("leave when their time is up, on a source where nothing else happens", async () => {
    const ingress = await start(KEEP_MS);
    await pipeline.startInProcess("worker");
    const ids = ["evt_quiet_1", "evt_quiet_2", "evt_quiet_3"];
    for (const id of ids) await deliver(ingress, id);
    await untilCompleted(ids);
    const completedAt = Date.now();
    // On Postgres the ledger has the body alone.
    if (backend === "redis") expect(await everythingQueued()).toContain(SECRET_WORDS);
    await until(async () => (await completedJobs()) === 0, { withinMs: KEEP_MS + LATE_MS });
    expect(Date.now() - completedAt).toBeGreaterThan(KEEP_MS / 2);
    expect(await everythingQueued()).toBe("[]");
  });

  test("leave in the call that completes, where none is to stay", async () => {
    const ingress = await start(0);
    const ids = Array.from({ length: 30 }, (_, index) => `evt_none_${index}`);
    for (const id of ids) await deliver(ingress, id);
    let most = 0;
    await pipeline.startInProcess("worker");
    await until(async () => {
      most = Math.max(most, (await completedJobs()) ?? 0);
      const { waiting = 0, active = 0 } = (await queues.counts()).get("acme") ?? {};
      return waiting + active === 0;
    });
    await untilCompleted(ids);
    expect(most).toBe(0);
    expect(await everythingQueued()).toBe("[]");
    // The ledger still knows a redelivery.
    await deliver(ingress, "evt_none_0");
    await until(async () => (await queues.counts()).get("acme")?.active === 0);
    const { rows } = await pipeline.database.query(
      "select attempts from millrace.events where event_id = 'evt_none_0'",
    );
    expect(rows).toEqual([{ attempts: 1 }]);
  });

  if (backend === "redis") {
    test("of a source of the ledger leave as soon as the ledger has them", async () => {
      await start(600_000);
      // As an ingress enqueues while Postgres is away.
      const body = Buffer.from(JSON.stringify({ words: SECRET_WORDS }));
      const late = event("evt_outage_1", { source: "patient", body });
      expect(await queues.enqueue([late])).toEqual(["accepted"]);
      expect(await everythingQueued()).toContain(SECRET_WORDS);
      await pipeline.startInProcess("worker");
      await until(async () => (await queues.findJob(late))?.state === "completed");
      expect(await everythingQueued()).not.toContain(SECRET_WORDS);
      const found = await createLedger({ pool: pipeline.database }).reads.findEvent(late);
      expect(found?.payload).toEqual({ words: SECRET_WORDS });
    });
  }
});
