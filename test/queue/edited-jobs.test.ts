import { queueName } from "@millrace/queue";
import { expect, it } from "vitest";
import { openForEach } from "../support/open-for.ts";
import { COMPLETED, dieWithJob, event, quickWorker, workOn } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { openQueuesOnRedis } from "./queues-on-redis.ts";

describeOnRedis("jobs that were edited in Redis itself", () => {
  const on = openForEach(() => openQueuesOnRedis("worker"));

  async function edit(ids: readonly string[], id: string, field: string, value: string) {
    await on.queues.enqueue(ids.map((each) => event(each)));
    await on.client.hset(`bull:${queueName("acme")}:${id}`, field, value);
    return () => on.queues.queues.get("acme")?.getJobState(id);
  }
  const work = () =>
    workOn(on.queues, () => COMPLETED, {
      worker: quickWorker({ maxStalledCount: 1 }),
      concurrency: () => 1,
    });

  it.each([
    ["data that is no JSON", "data", "{not json"],
    ["data that is null", "data", "null"],
    ["a stack trace that is no JSON", "stacktrace", "{not json"],
    ["a number of runs that is no number", "ats", "x"],
    ["a number of attempts that is no whole one", "atm", "1.5"],
  ])("go on with the others past %s", async (_, field, value) => {
    const ids = ["evt_1", "evt_2", "evt_3"];
    const stateOf = await edit(ids, "evt_2", field, value);
    const { runs } = work();
    const ran = (id: string) => runs.some((job) => job.event.eventId === id);
    await until(() => ran("evt_1") && ran("evt_3"));
    const state = await until(async () => {
      const found = await stateOf();
      return found === "failed" || found === "completed" ? found : undefined;
    });
    expect(state).toBe(field === "data" ? "failed" : "completed");
    expect(ran("evt_2")).toBe(field !== "data");
    expect(await on.queues.queues.get("acme")?.getJobs(["failed", "completed"])).toHaveLength(3);
  });

  it("are not lost with their worker past a number of stalls that is no number", async () => {
    const stateOf = await edit(["evt_1"], "evt_1", "stc", "x");
    await dieWithJob(on.redis.url, "acme");
    work();
    await until(async () => (await stateOf()) === "completed", { what: "the job completed" });
  });
});
