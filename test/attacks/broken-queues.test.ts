import { createLedger } from "@millrace/ledger";
import type { Redis } from "ioredis";
import { standardWebhooks } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { post, startStack, type Stack } from "../support/pipeline.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

// Somebody who can write to Redis breaks the keys of one queue. The other queues do not pay for it.

const KEYS = ["meta", "wait", "delayed", "prioritized", "paused", "failed", "completed"];
/** What bull-board reads for its list of queues. */
const BOARD_KEYS = [...KEYS, "active", "waiting-children", "repeat"];
const MEGABYTES_5 = 5 * 1024 * 1024;

describeOnRedis("a queue of which somebody has broken a key", () => {
  let stack: Stack;
  beforeAll(async () => {
    const config = {
      sources: { acme: standardWebhooks(), patient: standardWebhooks({ ack: "ledger" }) },
      reconciler: { intervalMs: 100, graceMs: 0 },
    };
    stack = await startStack(onRedis, { config });
  });
  afterAll(() => stack?.close());

  const redis = <T>(use: (client: Redis) => Promise<T>) =>
    withRedis(String(stack.servers.redisUrl), use);
  const completed = (eventId: string) =>
    until(
      async () => {
        const { rows } = await stack.pipeline.database.query(
          "select 1 from millrace.events where event_id = $1 and status = 'completed'",
          [eventId],
        );
        return rows.length === 1;
      },
      { withinMs: 15_000, what: `${eventId} completed` },
    );

  async function unreadable() {
    const answer = await fetch(`${stack.dashboard.url}/api/disagreements`);
    expect(answer.status).toBe(200);
    const { kinds } = (await answer.json()) as {
      kinds: { kind: string; examples: { source: string; job_id: string; detail: string }[] }[];
    };
    return kinds.find(({ kind }) => kind === "unreadable_job")?.examples ?? [];
  }

  test.each(KEYS)(
    "%s: events of another source run, and lost ones are found and enqueued",
    async (key) => {
      const broken = `bull:millrace-acme:${key}`;
      await redis((client) => client.set(broken, "of another type"));
      await post(stack.ingress.url, { id: `evt_${key}_1`, type: "a.b", source: "patient" });
      await completed(`evt_${key}_1`);
      const lost = anEvent({ source: "patient", eventId: `evt_${key}_2` });
      await createLedger({ pool: stack.pipeline.database }).intake.accept([lost]);
      await completed(`evt_${key}_2`);
      if (key === "failed" || key === "completed") {
        await until(async () => (await unreadable()).some(({ job_id }) => job_id === key));
      }
      expect((await fetch(`${stack.dashboard.url}/api/disagreements`)).status).toBe(200);
      await redis((client) => client.del(broken));
    },
  );

  /** The queues as bull-board lists them, with the jobs of acme. */
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

  test.each(BOARD_KEYS)(
    "%s: bull-board lists all queues, and says which it cannot read",
    async (key) => {
      const type = `bull:millrace-acme:${key}`;
      await redis((client) => client.rename(type, "kept").catch(() => {}));
      expect((await onBoard()).acme?.description).toBeUndefined();
      await redis((client) => client.set(type, "of another type"));
      const { acme, patient } = await onBoard();
      if (key !== "paused") expect(acme?.description).toContain("Not all of this queue is shown");
      expect(patient?.description).toBeUndefined();
      expect(patient?.counts["completed"]).toBeGreaterThan(0);
      await redis((client) =>
        client
          .multi()
          .del(type)
          .rename("kept", type)
          .exec()
          .catch(() => {}),
      );
    },
  );

  test.each([
    ["of another type", (client: Redis, key: string) => client.set(key, "no hash")],
    ["with data that is no JSON", (client: Redis, key: string) => client.hset(key, "data", "{no")],
    [
      "with options that are null",
      (client: Redis, key: string) => client.hset(key, "data", "{}", "opts", "null"),
    ],
  ])("a job %s is left out of bull-board's list, and its own page says why", async (_, spoil) => {
    const failed = "bull:millrace-acme:failed";
    const ids = ["evt_good_1", "evt_bad_1"];
    await redis(async (client) => {
      await client.hset("bull:millrace-acme:evt_good_1", { data: "{}", timestamp: Date.now() });
      await spoil(client, "bull:millrace-acme:evt_bad_1");
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
    await until(async () => (await unreadable()).some(({ job_id }) => job_id === "evt_large_1"));
  });
});
