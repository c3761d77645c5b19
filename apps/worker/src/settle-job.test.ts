import { bodyHash, type QueuedEvent, type Settlement } from "@millrace/core";
import { expect, test } from "vitest";
import { settleGivenUp, settleJob } from "./settle-job.ts";

const job: QueuedEvent = {
  event: {
    source: "shop",
    eventId: "evt_1",
    type: "order.created",
    generation: 0,
    acceptedAtMs: 1,
    bodyHash: bodyHash(Buffer.from("{}")),
    headers: {},
    unsigned: false,
    body: Buffer.from("{}"),
  },
  run: "run-1",
  enqueuedAtMs: 1,
  signal: new AbortController().signal,
};
const key = { source: "shop", eventId: "evt_1", generation: 0 };

function settling(
  settlement: Settlement,
  giveUp: () => Promise<unknown> = () => Promise.resolve(),
) {
  const told: unknown[] = [];
  const deps = {
    processor: { process: () => [Promise.resolve(settlement)] },
    ledger: {
      giveUp: (...given: unknown[]) => {
        told.push(given);
        return giveUp();
      },
    },
    isDatabaseTrouble: (error: unknown) => error instanceof TypeError,
  };
  return { told, settled: settleJob(job, deps) };
}

test("a job that was failed without an attempt is failed in the ledger by its key alone", async () => {
  const refused = { kind: "failed", code: "body_hash_mismatch", message: "no" } as const;
  const { told, settled } = settling(refused);
  expect(await settled).toEqual(refused);
  expect(told).toEqual([[key, { code: "body_hash_mismatch", message: "no", run: "run-1" }]]);
});

test("a failure that the ledger has is not told to it again", async () => {
  for (const settlement of [
    { kind: "failed", code: "permanent_error", message: "no", recorded: true },
    { kind: "completed", outcome: "handled" },
  ] as const) {
    const { told, settled } = settling(settlement);
    expect(await settled).toEqual(settlement);
    expect(told).toEqual([]);
  }
});

test("a job whose refusal the ledger could not hear comes again", async () => {
  const refused = { kind: "failed", code: "unknown_source", message: "no" } as const;
  const away = settling(refused, () => Promise.reject(new TypeError("away")));
  expect(await away.settled).toMatchObject({ kind: "retry", code: refused.code, recorded: false });
  const unstorable = settling(refused, () => Promise.reject(new Error("22021")));
  expect(await unstorable.settled).toEqual(refused);
});

test("a job that the queue gave up is recorded with its body only when the body is the verified one", async () => {
  const told: unknown[] = [];
  const ledger = {
    giveUp: (event: unknown) => Promise.resolve(told.push(event)),
    findEvent: () => Promise.resolve(undefined),
  };
  await settleGivenUp(job, "stalled", { ledger });
  const forged = { ...job, event: { ...job.event, body: Buffer.from("forged") } };
  await settleGivenUp(forged, "stalled", { ledger });
  expect(told).toEqual([job.event, key]);
});

test("onFailed is told of a job that the queue gave up, unless its event had settled before", async () => {
  const told: unknown[] = [];
  const giveUp = async (answer: string) => {
    const ledger = {
      giveUp: () => Promise.resolve(answer),
      findEvent: () => Promise.resolve({ event: { attempts: 7 } }),
    };
    await settleGivenUp(job, "stalled", { ledger, hook: { tell: (event) => told.push(event) } });
  };
  for (const answer of ["already_failed", "completed", "unknown"]) await giveUp(answer);
  expect(told).toEqual([]);
  await giveUp("failed");
  const failure = { code: "gave_up", message: "stalled" };
  expect(told).toEqual([{ ...key, type: "order.created", attempts: 7, ...failure }]);
});
