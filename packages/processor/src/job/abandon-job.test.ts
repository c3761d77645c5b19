import { bodyHash, MillraceError, type EventJob, type JobResult } from "@millrace/core";
import type { AbandonAnswer, EventRecord } from "@millrace/ledger";
import { expect, test } from "vitest";
import { abandonJob, failUnattempted } from "./abandon-job.ts";

const job: EventJob = {
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

function failing(
  result: JobResult & { kind: "failed" },
  answer: () => Promise<AbandonAnswer> = () => Promise.resolve("failed"),
) {
  const abandoned: unknown[] = [];
  const abandonEvent = (...call: unknown[]) => {
    abandoned.push(call);
    return answer();
  };
  return { abandoned, failed: failUnattempted(job, result, { abandonEvent }) };
}

test("a job that was failed without an attempt is failed in the ledger by its key alone", async () => {
  const refused = { kind: "failed", code: "body_hash_mismatch", message: "no" } as const;
  const { abandoned, failed } = failing(refused);
  expect(await failed).toEqual(refused);
  expect(abandoned).toEqual([[key, { code: "body_hash_mismatch", message: "no", run: "run-1" }]]);
});

test("a job whose refusal the ledger could not hear comes again", async () => {
  const refused = { kind: "failed", code: "unknown_source", message: "no" } as const;
  const error = new MillraceError("database_unavailable", "away");
  const away = failing(refused, () => Promise.reject(error));
  expect(await away.failed).toMatchObject({ kind: "retry", code: refused.code, recorded: false });
  const unstorable = failing(refused, () => Promise.reject(new Error("22021")));
  expect(await unstorable.failed).toEqual(refused);
});

test("a job that the queue gave up is recorded only with a valid MAC, and with the body that was verified", async () => {
  const abandoned: unknown[] = [];
  const abandonEvent = (event: unknown): Promise<AbandonAnswer> => {
    abandoned.push(event);
    return Promise.resolve("unknown");
  };
  const findEvent = () => Promise.resolve(undefined);
  const deps = { ledger: { abandonEvent, findEvent }, hook: undefined };
  await abandonJob(job, "stalled", deps);
  const forged = { ...job, event: { ...job.event, body: Buffer.from("forged") } };
  await abandonJob(forged, "stalled", deps);
  await abandonJob({ ...job, mac: "missing" }, "stalled", deps);
  await abandonJob({ ...job, mac: "wrong" }, "stalled", deps);
  expect(abandoned).toEqual([job.event, key, key, key]);
});

test("onFailed gets a job that the queue gave up, unless its event had settled before", async () => {
  const called: unknown[] = [];
  const abandonEvent = async (answer: AbandonAnswer) => {
    const ledger = {
      abandonEvent: () => Promise.resolve(answer),
      findEvent: () => Promise.resolve({ event: { attempts: 7 } } as EventRecord),
    };
    const hook = { call: (event: unknown) => void called.push(event) };
    await abandonJob(job, "stalled", { ledger, hook });
  };
  for (const answer of ["already_failed", "completed", "unknown"] as const) {
    await abandonEvent(answer);
  }
  expect(called).toEqual([]);
  await abandonEvent("failed");
  const failure = { code: "gave_up", message: "stalled" };
  expect(called).toEqual([{ ...key, type: "order.created", attempts: 7, ...failure }]);
});
