import { bodyHash, toEnvelope } from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import type { Queue } from "bullmq";
import { standardWebhooks } from "millrace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { readMetric } from "../support/metrics.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import { millrace } from "../support/run-in-process.ts";
import { eventOf, reaches } from "../support/seen-events.ts";
import { until } from "../support/until.ts";
import { readDisagreement } from "./disagreements.ts";

const SECRET_WORDS = "nobody may see these words";
const DAY_MS = 86_400_000;

onOneBackend("jobs that were made up", (prepare, backend) => {
  const config = {
    sources: { acme: standardWebhooks({ attempts: 1 }) },
    reconciler: { intervalMs: 100, graceMs: 0 },
  };
  const stack = openForAll(() => startStack(prepare, { config, worker: false }));
  const worker = openForAll(() => stack.pipeline.startInProcess("worker"));
  let queues: Queues;
  let queue: Queue;

  beforeAll(async () => {
    queues = await openTestQueues(stack.servers, "dashboard", ["acme"]);
    const found = queues.queues.get("acme");
    if (found === undefined) throw new Error("Cannot find the queue of acme");
    queue = found;
  });
  afterAll(() => queues?.close());

  function envelope(eventId: string, over: object): object {
    const body = Buffer.from(JSON.stringify({ words: SECRET_WORDS }));
    const event = anEvent({ source: "acme", eventId, body, bodyHash: bodyHash(body) });
    return { ...toEnvelope(event), ...over };
  }

  async function untilFailed(jobId: string): Promise<string | undefined> {
    await until(async () => (await queue.getJobState(jobId)) === "failed", { what: jobId });
    return (await queue.getJob(jobId))?.failedReason;
  }

  async function stillReconciles(eventId: string): Promise<void> {
    const { database } = stack.pipeline;
    const ledger = createLedger({ pool: database });
    await ledger.intake.accept([anEvent({ source: "acme", eventId })]);
    await reaches(database, eventId, "completed", { withinMs: 15_000 });
  }

  async function shown(count: number) {
    const found = await until(async () => {
      const kind = await readDisagreement(stack.dashboard, "unreadable_job");
      return kind?.count === count && kind;
    });
    expect(JSON.stringify(found)).not.toContain(SECRET_WORDS);
    return found;
  }

  const NUMBERS: readonly (readonly [string, object])[] = [
    ["g3000000000-evt_generation_1", { generation: 3e9 }],
    ["g1e+300-evt_generation_2", { generation: 1e300 }],
    ["evt_time_1", { accepted_at: 1e300 }],
    ["evt_time_2", { accepted_at: -1e15 }],
  ];

  test("with numbers that no column holds fail, each is one finding, and the passes go on", async () => {
    await stillReconciles("evt_before_1");
    for (const [jobId, over] of NUMBERS) {
      const eventId = jobId.replace(/^g[^-]*-/, "");
      await queue.add("thing.happened", envelope(eventId, over), { jobId });
      expect(await untilFailed(jobId)).toMatch(/^invalid_envelope: /);
    }
    await stillReconciles("evt_after_1");
    const found = await shown(NUMBERS.length);
    expect(found.examples.map(({ job_id }) => job_id).toSorted()).toEqual(
      NUMBERS.map(([jobId]) => jobId).toSorted(),
    );
    for (const { detail } of found.examples)
      expect(detail).toMatch(/^invalid_envelope: Cannot read/);
    await until(
      async () =>
        (await readMetric(worker.url, 'millrace_disagreements{kind="unreadable_job"')) ===
        NUMBERS.length,
    );
  });

  test("are shown by the doctor, in words of ours", async () => {
    const { code, stdout } = await millrace(["doctor"], { env: stack.pipeline.env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/4 unreadable_job: /);
    expect(stdout).toMatch(/acme +job g3000000000-evt_generation_1 +invalid_envelope: Cannot read/);
    expect(stdout).not.toContain(SECRET_WORDS);
  });

  test("in a version that nobody knows are put off for a day, and fail then", async () => {
    const later = (eventId: string) => envelope(eventId, { v: 99 });
    await queue.add("thing.happened", later("evt_later_1"), { jobId: "evt_later_1" });
    await until(async () => (await queue.getJobState("evt_later_1")) === "delayed");
    for (const [jobId, ageMs] of [
      ["evt_later_2", DAY_MS + 1_000],
      ["evt_later_3", -10 * DAY_MS],
    ] as const) {
      const timestamp = Date.now() - ageMs;
      await queue.add("thing.happened", later(jobId), { jobId, timestamp });
      expect(await untilFailed(jobId)).toMatch(/^unknown_envelope_version: /);
    }
    await shown(NUMBERS.length + 2);
    await queue.remove("evt_later_1");
  });

  if (backend === "redis") {
    test("that Redis itself cannot give are findings too, and the passes go on", async () => {
      const failed = "bull:millrace-acme:failed";
      const longAgo = Date.now() - 60_000;
      const whole = JSON.stringify(envelope("evt_half_1", {}));
      await withRedis(String(stack.servers.redisUrl), async (client) => {
        await client.set("bull:millrace-acme:evt_text_1", "no hash");
        const half = { data: whole.slice(0, -5), failedReason: "x" };
        await client.hset("bull:millrace-acme:evt_half_1", half);
        for (const id of ["evt_text_1", "evt_nothing_1", "evt_half_1"]) {
          await client.zadd(failed, longAgo, id);
        }
      });
      await shown(NUMBERS.length + 5);
      await stillReconciles("evt_after_2");
      expect(await eventOf(stack.pipeline.database, "evt_half_1")).toBeUndefined();
    });
  }
});
