import { bodyHash, toEnvelope } from "@millrace/core";
import { createPostgresQueues, createRedisQueues, type Queues } from "@millrace/queue";
import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { Book } from "./book.ts";
import { stripe, stripeBody } from "./senders.ts";
import type { Stage } from "./stage.ts";

/** Job data that nobody of ours wrote: title, data, and the code that its job fails with. */
const FORGED: readonly (readonly [string, unknown, string])[] = [
  ["no data", undefined, "invalid_envelope"],
  ["an empty object", {}, "invalid_envelope"],
  ["a text", "x", "invalid_envelope"],
  ["half an envelope", { v: 1, id: "forged" }, "invalid_envelope"],
  [
    "another source than its queue",
    { ...envelope("forged_source"), source: "a" },
    "invalid_envelope",
  ],
  ["a source that is not configured", { ...envelope("x"), source: "nobody" }, "invalid_envelope"],
  ["another event's id", envelope("forged_other"), "invalid_envelope"],
];

/** Lines 57 and 58: jobs that were edited or added by hand. */
export function jobs(book: Book, stage: () => Stage): void {
  async function withQueue(
    run: (queue: NonNullable<ReturnType<Queues["queues"]["get"]>>) => Promise<void>,
  ): Promise<void> {
    const queues = await openQueues(stage());
    try {
      await until(() => queues.ping().then(() => true));
      const queue = queues.queues.get("stripe");
      if (queue === undefined) throw new Error("the queue of stripe is not there");
      await run(queue);
    } finally {
      await queues.close();
    }
  }

  for (const [index, [title, data, code]] of FORGED.entries()) {
    book.proves(58, `a job with ${title} fails, and is never run`, async () => {
      await withQueue(async (queue) => {
        const job = await queue.add("test.effect", data, { jobId: `forged_${index}` });
        await until(async () => (await queue.getJobState(job.id ?? "")) === "failed");
        expect((await queue.getJob(job.id ?? ""))?.failedReason).toContain(code);
      });
      expect(await stage().stateOf("stripe", `forged_${index}`)).toBeUndefined();
      await stage().take(stripe(stripeBody(`after_forged_${index}`)), `after_forged_${index}`);
    });
  }

  book.proves(58, "a job of a later version waits for a newer worker", async () => {
    await withQueue(async (queue) => {
      const data = { ...envelope("later_1"), v: 99 };
      await queue.add("test.effect", data, { jobId: "later_1" });
      await until(async () => (await queue.getJobState("later_1")) === "delayed");
      await (await queue.getJob("later_1"))?.remove();
    });
    expect(await stage().stateOf("stripe", "later_1")).toBeUndefined();
  });

  book.proves(57, "a job whose data was edited in the store fails, and is never run", async () => {
    await withQueue(async (queue) => {
      await queue.pause();
      await stage().deliver(stripe(stripeBody("edited_1", { amount: 1 })), "edited_1");
      const job = await until(() => queue.getJob("edited_1"));
      const body = stripeBody("edited_1", { amount: 1_000_000 });
      // On Postgres the body is in the ledger, and the identity is what can be edited.
      const forged = job.data.body === undefined ? { id: "edited_2" } : { body };
      await job.updateData({ ...job.data, ...forged });
      await queue.resume();
      await until(async () => (await queue.getJobState("edited_1")) === "failed");
      const reason = (await queue.getJob("edited_1"))?.failedReason;
      expect(reason).toMatch(/body_hash_mismatch|invalid_envelope/);
    });
    stage().isForged("stripe", "edited_1");
    expect(await stage().effectsOf("stripe", "edited_1")).toBe(0);
    expect(await stage().stateOf("stripe", "edited_2")).toBeUndefined();
    // Where the queue alone had it, the ledger does not take a forged job's word for it. Elsewhere its
    // event is found by a sweep: the job names another one.
    if (stage().ground.redisUrl !== undefined) return;
    await until(async () => (await stage().stateOf("stripe", "edited_1"))?.status === "failed");
  });
}

function openQueues({ ground }: Stage): Promise<Queues> | Queues {
  const options = { sources: ["stripe"], role: "dashboard", notify: () => {} } as const;
  return ground.redisUrl === undefined
    ? createPostgresQueues({ url: ground.databaseUrl, ...options })
    : createRedisQueues({ url: ground.redisUrl, ...options });
}

function envelope(eventId: string) {
  const body = Buffer.from(stripeBody(eventId));
  return toEnvelope({
    source: "stripe",
    eventId,
    type: "test.effect",
    generation: 0,
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: {},
    unsigned: false,
    body,
  });
}
