import { expect, test } from "vitest";
import { createRecorder } from "./record-together.ts";
import { createMemoryLedger } from "./testing/memory-ledger.ts";
import { makeJob } from "./testing/make-job.ts";

function recorder(batchMax = 50) {
  const ledger = createMemoryLedger();
  const isDatabaseTrouble = (error: unknown) => error instanceof TypeError;
  return { ledger, record: createRecorder({ ledger, isDatabaseTrouble }, { batchMax }) };
}

test("jobs that arrive together share one call", async () => {
  const { ledger, record } = recorder(4);
  const claims = await Promise.all(Array.from({ length: 6 }, () => record.add(makeJob())));
  expect(claims.map((claim) => claim.kind)).toEqual(Array(6).fill("claimed"));
  expect(ledger.calls.map((jobs) => jobs.length)).toEqual([4, 2]);
});

test("two jobs of one event never go in one call", async () => {
  const { ledger, record } = recorder();
  const twins = [makeJob({ eventId: "evt_twin" }), makeJob({ eventId: "evt_twin" })];
  const other = makeJob({ eventId: "evt_twin", generation: 1 });
  const claims = await Promise.all([...twins, other].map((job) => record.add(job)));
  expect(claims.map((claim) => claim.kind)).toEqual(["claimed", "busy", "claimed"]);
  expect(ledger.calls).toEqual([[twins[0], other]]);
});

test("a job that cannot be recorded does not take its batch-mates with it", async () => {
  const { ledger, record } = recorder();
  ledger.faults.record = (jobs) => {
    if (jobs.some((job) => job.event.eventId === "evt_bad")) throw new Error("22021");
  };
  const good = record.add(makeJob());
  const bad = record.add(makeJob({ eventId: "evt_bad" }));
  await expect(bad).rejects.toThrow("22021");
  expect((await good).kind).toBe("claimed");
});

test("a database that is away is not asked once more for every job", async () => {
  const { ledger, record } = recorder();
  ledger.faults.record = () => {
    throw new TypeError("away");
  };
  await Promise.allSettled([record.add(makeJob()), record.add(makeJob())]);
  expect(ledger.calls).toHaveLength(1);
});
