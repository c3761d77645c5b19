import { createLedger } from "@millrace/ledger";
import type { Redis } from "ioredis";
import { standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import { describeOnRedis } from "../support/redis.ts";
import { reaches } from "../support/seen-events.ts";
import { until } from "../support/until.ts";
import { readDisagreement } from "./disagreements.ts";

// Somebody who can write to Redis breaks the keys of one queue. The other queues do not pay for it.

const KEYS = ["meta", "wait", "delayed", "prioritized", "paused", "failed", "completed"];
const BOARD_KEYS = [...KEYS, "active", "waiting-children", "repeat"];
const MEGABYTES_5 = 5 * 1024 * 1024;

describeOnRedis("a queue of which somebody has broken a key", () => {
  const config = {
    sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
    reconciler: { intervalMs: 100, graceMs: 0 },
  };
  const stack = openForAll(() => startStack(onRedis, { config }));

  const redis = <T>(use: (client: Redis) => Promise<T>) =>
    withRedis(String(stack.servers.redisUrl), use);
  const completed = (id: string) =>
    reaches(stack.pipeline.database, id, "completed", { withinMs: 15_000 });
  const shown = (jobId: string) =>
    until(async () => {
      const found = await readDisagreement(stack.dashboard, "unreadable_job");
      return found?.examples.some(({ job_id }) => job_id === jobId);
    });

  test.each(KEYS)("%s: events of another source run, and lost ones are enqueued", async (key) => {
    const broken = `bull:millrace-acme:${key}`;
    await redis((client) => client.set(broken, "of another type"));
    await post(stack.ingress.url, { id: `evt_${key}_1`, type: "a.b", source: "patient" });
    await completed(`evt_${key}_1`);
    const lost = anEvent({ source: "patient", eventId: `evt_${key}_2` });
    await createLedger({ pool: stack.pipeline.database }).intake.accept([lost]);
    await completed(`evt_${key}_2`);
    if (key === "failed" || key === "completed") await shown(key);
    await readDisagreement(stack.dashboard, "unreadable_job");
    await redis((client) => client.del(broken));
  });

  async function onBoard() {
    const answer = await fetch(
      `${stack.dashboard.url}/queues/api/queues?activeQueue=millrace-acme&status=latest&page=1&jobsPerPage=10`,
    );
    expect(answer.status).toBe(200);
    const { queues } = (await answer.json()) as {
      queues: {
        name: string;
        description?: string;
        counts: Record<string, number>;
        jobs: { id: string }[];
      }[];
    };
    const named = (name: string) => queues.find((queue) => queue.name === `millrace-${name}`);
    return { acme: named("acme"), patient: named("patient") };
  }

  test.each(BOARD_KEYS)("%s: bull-board lists all queues, and what it cannot read", async (key) => {
    const type = `bull:millrace-acme:${key}`;
    await redis((client) => client.rename(type, "kept").catch(() => {}));
    expect((await onBoard()).acme?.description).toBeUndefined();
    await redis((client) => client.set(type, "of another type"));
    const { acme, patient } = await onBoard();
    if (key !== "paused") expect(acme?.description).toContain("Not all of this queue is shown");
    expect(patient?.description).toBeUndefined();
    expect(patient?.counts["completed"]).toBeGreaterThan(0);
    await redis(async (client) => {
      await client.del(type);
      await client.rename("kept", type).catch(() => {});
    });
  });

  test.each<[string, object | undefined]>([
    ["of another type", undefined],
    ["with data that is no JSON", { data: "{no" }],
    ["with options that are null", { data: "{}", opts: "null" }],
  ])("a job %s is left out of bull-board's list, and its own page says why", async (_, fields) => {
    const failed = "bull:millrace-acme:failed";
    const ids = ["evt_good_1", "evt_bad_1"];
    await redis(async (client) => {
      await client.hset("bull:millrace-acme:evt_good_1", { data: "{}", timestamp: Date.now() });
      const bad = "bull:millrace-acme:evt_bad_1";
      await (fields === undefined ? client.set(bad, "no hash") : client.hset(bad, fields));
      for (const id of ids) await client.zadd(failed, Date.now(), id);
    });
    const { acme } = await onBoard();
    expect(acme?.description).toContain("Not all of this queue is shown");
    expect(acme?.jobs.map(({ id }) => id)).toContain("evt_good_1");
    expect(acme?.jobs.map(({ id }) => id)).not.toContain("evt_bad_1");
    for (const path of ["evt_bad_1", "evt_bad_1/retry"]) {
      const method = path.endsWith("retry") ? "PUT" : "GET";
      const job = `${stack.dashboard.url}/queues/api/queues/millrace-acme/${path}`;
      const answer = await fetch(job, { method });
      expect(answer.status).toBe(409);
      expect(await answer.json()).toMatchObject({ error: { code: "queue_unreadable" } });
    }
    await redis((client) => client.del(failed, ...ids.map((id) => `bull:millrace-acme:${id}`)));
  });

  test("a job of megabytes that has failed is a finding, and is not read as a whole", async () => {
    const failed = "bull:millrace-acme:failed";
    const large = "x".repeat(MEGABYTES_5);
    await redis(async (client) => {
      await client
        .multi()
        .hset("bull:millrace-acme:evt_large_1", { data: `"${large}"`, failedReason: large })
        .zadd(failed, Date.now() - 60_000, "evt_large_1")
        .exec();
    });
    const queues = await openTestQueues(stack.servers, "dashboard", ["acme"]);
    const { jobs } = await queues.finishedJobs("acme", "failed");
    await queues.close();
    expect(jobs).toMatchObject([{ jobId: "evt_large_1", event: undefined }]);
    expect(jobs[0]?.failedReason?.length).toBeLessThan(10_000);
    await shown("evt_large_1");
  });
});
