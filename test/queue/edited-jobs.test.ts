import type { JobResult } from "@millrace/core";
import { createRedisQueues, queueName, type QueueNotice } from "@millrace/queue";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { dieWithJob, event, quickWorker } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const COMPLETED: JobResult = { kind: "completed", outcome: "handled" };

describeOnRedis("jobs that were edited in Redis itself", () => {
  it.each([
    ["data that is no JSON", "data", "{not json"],
    ["data that is null", "data", "null"],
    ["a stack trace that is no JSON", "stacktrace", "{not json"],
    ["a number of runs that is no number", "ats", "x"],
    ["a number of attempts that is no whole one", "atm", "1.5"],
  ])("go on with the others past %s", async (_, field, value) => {
    const redis = await startRedis();
    const notices: QueueNotice[] = [];
    const queues = createRedisQueues({
      url: redis.url,
      sources: ["acme"],
      role: "worker",
      notify: (notice) => notices.push(notice),
    });
    const client = new Redis(redis.url);
    await until(() => queues.ping().then(() => true));
    await queues.enqueue([event("evt_1"), event("evt_2"), event("evt_3")]);
    await client.hset(`bull:${queueName("acme")}:evt_2`, field, value);
    const ran = new Set<string>();
    queues.work({
      worker: quickWorker({ maxStalledCount: 1 }),
      concurrency: () => 1,
      run: async (job) => {
        ran.add(job.event.eventId);
        return COMPLETED;
      },
      onAbandoned: () => Promise.resolve(),
    });
    await until(() => ran.has("evt_1") && ran.has("evt_3"));
    const state = await until(async () => {
      const found = await queues.queues.get("acme")?.getJobState("evt_2");
      return found === "failed" || found === "completed" ? found : undefined;
    });
    expect(state).toBe(field === "data" ? "failed" : "completed");
    expect(ran.has("evt_2")).toBe(field !== "data");
    // And it can be listed, which bull-board does.
    expect(await queues.queues.get("acme")?.getJobs(["failed", "completed"])).toHaveLength(3);
    await queues.close();
    client.disconnect();
    await redis.stop();
  });

  it("are not lost with their worker past a number of stalls that is no number", async () => {
    const redis = await startRedis();
    const queues = createRedisQueues({
      url: redis.url,
      sources: ["acme"],
      role: "worker",
      notify: () => {},
    });
    const client = new Redis(redis.url);
    await until(() => queues.ping().then(() => true));
    await queues.enqueue([event("evt_1")]);
    await client.hset(`bull:${queueName("acme")}:evt_1`, "stc", "x");
    await dieWithJob(redis.url, "acme");
    queues.work({
      worker: quickWorker({ maxStalledCount: 1 }),
      concurrency: () => 1,
      run: () => Promise.resolve(COMPLETED),
      onAbandoned: () => Promise.resolve(),
    });
    const isCompleted = async () =>
      (await queues.queues.get("acme")?.getJobState("evt_1")) === "completed";
    await until(isCompleted, { withinMs: 60_000, what: "the job completed" });
    await queues.close();
    client.disconnect();
    await redis.stop();
  });
});
