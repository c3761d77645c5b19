import { toEnvelope } from "@millrace/core";
import { checkJob } from "@millrace/processor";
import { Queue } from "bullmq";
import { sql } from "drizzle-orm";
import { defineConfig, hmac, on } from "millrace";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openTestQueues, quickWorker } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const CLOSES_THE_CONNECTION = [
  "set work_mem = '8MB'",
  "reset work_mem",
  "discard plans",
  "prepare left_behind as select 1",
  "listen left_behind",
  "unlisten *",
  "load '$libdir/plpgsql'",
];
const LEAVES_NOTHING = ["set local work_mem = '8MB'", "set constraints all deferred"];

describe("what a handler leaves behind on its connection", () => {
  let environment: TestEnvironment;
  let statement = "";
  let pid: unknown;

  beforeAll(async () => {
    const config = defineConfig({
      sources: { acme: hmac({ header: "x-signature", id: "json:id", type: "json:type" }) },
      handlers: [
        on("acme", "*", async (_event, { tx }) => {
          await tx.execute(sql.raw(statement));
          pid = (await tx.execute(sql`select pg_backend_pid() as pid`)).rows[0]?.["pid"];
        }),
      ],
    });
    environment = await createTestEnvironment(config, { databaseUrl: inject("postgresUrl") });
  });
  afterAll(() => environment?.close());

  async function connectionOf(text: string): Promise<unknown> {
    statement = text;
    const { status, error } = await environment.deliver("acme", "thing.happened");
    expect({ status, error }).toEqual({ status: "completed", error: undefined });
    return pid;
  }

  test.each([
    ...CLOSES_THE_CONNECTION.map((text) => [text, false] as const),
    ...LEAVES_NOTHING.map((text) => [text, true] as const),
  ])("after %s the connection is used again: %s", async (text, isUsedAgain) => {
    const before = await connectionOf(text);
    expect((await connectionOf("select 1")) === before).toBe(isUsedAgain);
  });
});

describeOnRedis("a client that can write to Redis, where jobs are not signed", () => {
  test("has a worker run an event that no sender signed; its body stays with the completed job", async () => {
    const redis = await startRedis();
    const ran: string[] = [];
    const urls = { databaseUrl: "", redisUrl: redis.url };
    const queues = await openTestQueues(urls, "worker", ["acme"]);
    const forger = new Queue("millrace-acme", { connection: { url: redis.url } });
    try {
      queues.work({
        worker: quickWorker(),
        concurrency: () => 1,
        run: async (job) => {
          const refused = checkJob(job);
          if (refused !== undefined) return { kind: "failed", ...refused };
          ran.push(job.event.eventId);
          return { kind: "completed", outcome: "handled" };
        },
        onAbandoned: () => Promise.resolve(),
      });
      await forger.add("thing.happened", forged("evt_1", '{"forged":1}'), { jobId: "evt_1" });
      const careless = { ...forged("evt_2", '{"forged":2}'), body: '{"edited":2}' };
      await forger.add("thing.happened", careless, { jobId: "evt_2" });
      const stateOf = (id: string) => forger.getJobState(id);
      await until(async () => (await stateOf("evt_1")) === "completed");
      await until(async () => (await stateOf("evt_2")) === "failed");
      expect(ran).toEqual(["evt_1"]);
      expect((await forger.getJob("evt_1"))?.data).toMatchObject({ body: '{"forged":1}' });
    } finally {
      await forger.close();
      await queues.close();
      await redis.stop();
    }
  });
});

function forged(eventId: string, text: string): object {
  const body = Buffer.from(text);
  return toEnvelope(anEvent({ source: "acme", eventId, body }));
}
