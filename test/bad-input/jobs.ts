import { bodyHash, toEnvelope } from "@millrace/core";
import type { Queue } from "bullmq";
import { expect } from "vitest";
import { withQueue } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import type { LineTests } from "./lines.ts";
import { stripe, stripeBody } from "./senders.ts";
import type { Target } from "./target.ts";

const FORGED: readonly (readonly [string, unknown])[] = [
  ["no data", undefined],
  ["half an envelope", { v: 1, id: "forged" }],
  ["a source that is not configured", { ...envelope("x"), source: "nobody" }],
  ["another event's id", envelope("forged_other")],
];

export function jobs(tests: LineTests, target: () => Target): void {
  const onQueue = <T>(use: (queue: Queue) => Promise<T>) =>
    withQueue(target().servers, "stripe", use);

  for (const [index, [title, data]] of FORGED.entries()) {
    tests.proves(58, `a job with ${title} fails, and is never run`, async () => {
      await onQueue(async (queue) => {
        const job = await queue.add("test.effect", data, { jobId: `forged_${index}` });
        await until(async () => (await queue.getJobState(job.id ?? "")) === "failed");
        expect((await queue.getJob(job.id ?? ""))?.failedReason).toContain("invalid_envelope");
      });
      expect(await target().stateOf("stripe", `forged_${index}`)).toBeUndefined();
      await target().take(stripe(stripeBody(`after_forged_${index}`)), `after_forged_${index}`);
    });
  }

  tests.proves(57, "a job whose data was edited in the store fails, and is never run", async () => {
    await onQueue(async (queue) => {
      await queue.pause();
      await target().deliver(stripe(stripeBody("edited_1", { amount: 1 })), "edited_1");
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
    target().isForged("stripe", "edited_1");
    expect(await target().effectsOf("stripe", "edited_1")).toBe(0);
    expect(await target().stateOf("stripe", "edited_2")).toBeUndefined();
    // Where the queue alone had it, the ledger does not take a forged job's word for it.
    if (target().servers.redisUrl !== undefined) return;
    await until(async () => (await target().stateOf("stripe", "edited_1"))?.status === "failed");
  });
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
