import { makeQueueKey, QueueKeys, toEnvelope, type IncomingEvent } from "@millrace/core";
import type { Redis } from "ioredis";
import { defineConfig, on, standardWebhooks } from "millrace";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openForAll } from "../support/open-for.ts";
import { post } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { describeOnRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { startJobForger } from "./job-forger.ts";

// Somebody can write to Redis, and has no key. They copy what was signed, and move and edit the jobs that are there.

const SECRET_WORDS = "nobody may see these words";

const handled: string[] = [];
let isRepaired = false;
const soon = { attempts: 2, backoff: { firstMs: 20, factor: 1, maxMs: 20 } };
const config = defineConfig({
  sources: {
    acme: standardWebhooks(soon),
    patient: standardWebhooks({ ...soon, ack: "ledger" }),
  },
  handlers: ["acme", "patient"].map((source) =>
    on(source, "*", ({ id, type }) => {
      handled.push(`${source}/${id}`);
      if (type === "test.fails" && !isRepaired) throw new Error("as the event says");
      return Promise.resolve();
    }),
  ),
  reconciler: { intervalMs: 200, graceMs: 0 },
  worker: { lockDurationMs: 2_000, stalledIntervalMs: 500 },
});
const DAY_MS = 86_400_000;

describeOnRedis("jobs that were copied, moved, or edited in Redis", () => {
  const key = makeQueueKey();
  const forger = openForAll(() => startJobForger(config, key));

  const runsOf = (name: string) => handled.filter((one) => one === name).length;
  const show = async (path: string) =>
    (await (await fetch(`${forger.dashboard.url}/api/${path}`)).json()) as Record<string, unknown>;

  async function signedData(id: string): Promise<unknown> {
    return await withQueue(forger.servers, "acme", async (queue) => {
      await queue.pause();
      await post(forger.ingress.url, { id, type: "money.sent", data: { words: SECRET_WORDS } });
      const job = await until(() => queue.getJob(id));
      await job.remove();
      await queue.resume();
      return job.data;
    });
  }

  const unsigned = (eventId: string, over: Partial<IncomingEvent> = {}) =>
    toEnvelope(anEvent({ source: "acme", eventId, type: "money.sent", ...over }));

  test.each([
    ["another id", "acme", "copy_of_1"],
    ["another queue", "patient", "signed_1"],
    ["another generation", "acme", "g1-signed_1"],
  ])(
    "a signed job under %s does not run, and is not shown as an event",
    async (_, source, jobId) => {
      await forger.add(await signedData("signed_1"), jobId, source);
      expect(await forger.failedReason(jobId, source)).toMatch(/^invalid_envelope: /);
      expect(await forger.rowsOf("signed_1")).toEqual([]);
      const [, generation = "0", id] = /^(?:g(\d+)-)?(.*)$/.exec(jobId) ?? [];
      const shown = await show(`events/${source}/${id}?generation=${generation}`);
      expect(shown).toMatchObject({ job_state: "failed", type: null, body: null, headers: {} });
      expect(JSON.stringify(shown)).not.toContain(SECRET_WORDS);
      expect(handled).toEqual([]);
    },
  );

  test("a signed job that comes again after its event is completed does not run", async () => {
    const data = await signedData("signed_2");
    for (const _ of ["once", "again"]) {
      await forger.add(data, "signed_2");
      await forger.settled("signed_2");
      await withQueue(forger.servers, "acme", async (queue) => {
        await until(async () => (await queue.getJobState("signed_2")) === "completed");
        await queue.remove("signed_2");
      });
    }
    expect(runsOf("acme/signed_2")).toBe(1);
  });

  test("a signed job of an event that the retention may have deleted does not run", async () => {
    const accepted = { eventId: "signed_3", acceptedAtMs: Date.now() - 91 * DAY_MS };
    const data = toEnvelope(anEvent({ source: "acme", ...accepted }), { keys: new QueueKeys(key) });
    await forger.add(data, "signed_3");
    expect(await forger.failedReason("signed_3")).toMatch(/^identity_expired: /);
    expect(await forger.rowsOf("signed_3")).toEqual([]);
    expect(runsOf("acme/signed_3")).toBe(0);
  });

  test("a failed event is not attempted again by a job that nobody signed", async () => {
    await post(forger.ingress.url, { id: "fails_1", type: "test.fails" });
    expect(await forger.failedReason("fails_1")).toContain("handler_failed");
    expect(runsOf("acme/fails_1")).toBe(2);
    await withQueue(forger.servers, "acme", (queue) => queue.remove("fails_1"));
    await forger.add(unsigned("fails_1"), "fails_1");
    expect(await forger.failedReason("fails_1")).toContain("handler_failed");
    expect(runsOf("acme/fails_1")).toBe(2);
    // A person's retry runs it, although the job in the queue is the forged one.
    isRepaired = true;
    const url = `${forger.dashboard.url}/api/events/acme/fails_1/retry`;
    expect((await fetch(url, { method: "POST" })).status).toBe(200);
    await forger.settled("fails_1");
    expect(runsOf("acme/fails_1")).toBe(3);
  });

  test("a job that BullMQ gives up fails no event but its own", async () => {
    await withQueue(forger.servers, "patient", (queue) => queue.pause());
    await post(forger.ingress.url, { id: "waits_1", type: "test.effect", source: "patient" });
    await forger.settled("waits_1", "pending");
    const data = JSON.stringify(unsigned("waits_1", { source: "patient" }));
    await forger.redis((client) => push(client, "another_1", { data, defa: "stalled" }));
    expect(await forger.failedReason("another_1")).toBe("stalled");
    await post(forger.ingress.url, { id: "behind_1", type: "test.effect" });
    await forger.settled("behind_1");
    expect(await forger.rowsOf("waits_1")).toMatchObject([{ status: "pending" }]);
    await withQueue(forger.servers, "patient", (queue) => queue.resume());
    await forger.settled("waits_1");
  });

  test.each<[string, Record<string, string>]>([
    ["options that are no JSON", { opts: "{" }],
    ["options that are null", { opts: "null" }],
    ["progress that is no JSON", { progress: "{" }],
    ["a parent that is no JSON", { parent: "{" }],
    ["a parent that is not there", { parentKey: "elsewhere" }],
    ["a scheduler that is not there", { rjk: "a:b:c:d:e" }],
    ["a count that is no number", { atm: "many" }],
  ])("an event whose job was given %s completes, and its job with it", async (_, fields) => {
    const id = `edited_${Object.entries(fields).join("_").replaceAll(/\W/g, "")}`;
    const data = JSON.stringify(await signedData(id));
    await forger.redis(async (client) => {
      await push(client, id, { data, ...fields });
      await forger.settled(id);
      await until(() => client.zscore("bull:millrace-acme:completed", id), { what: `${id} ended` });
    });
    expect(runsOf(`acme/${id}`)).toBe(1);
  });
});

async function push(client: Redis, id: string, fields: Record<string, string>): Promise<void> {
  await client
    .multi()
    .hset(`bull:millrace-acme:${id}`, { name: "x", opts: "{}", timestamp: Date.now(), ...fields })
    .lpush("bull:millrace-acme:wait", id)
    .zadd("bull:millrace-acme:marker", 0, "0")
    .exec();
}
