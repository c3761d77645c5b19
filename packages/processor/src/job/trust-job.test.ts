import { expect, test } from "vitest";
import { makeJob } from "../testing/make-job.ts";
import { checkJob, trustJob } from "./trust-job.ts";

const codes = ({ unknown }: ReturnType<typeof trustJob>) => [
  unknown.body_missing.code,
  unknown.identity_expired.code,
];

test("a job whose MAC is valid, or not asked for, is taken as it is", () => {
  for (const signsJobs of [false, true]) {
    const job = makeJob({}, { mac: undefined });
    const trust = trustJob(job, signsJobs);
    expect(trust.isTrusted).toBe(true);
    expect(trust.job).toBe(job);
    expect(codes(trust)).toEqual(["body_lost", "identity_expired"]);
  }
});

test("a job without a valid MAC is not trusted", () => {
  expect(trustJob(makeJob({}, { mac: "missing" }), true).isTrusted).toBe(false);
  expect(trustJob(makeJob({}, { mac: "wrong" }), true).isTrusted).toBe(false);
});

test("of a job that is not trusted, only the name of its event is taken", () => {
  const job = makeJob({ headers: { "x-a": "1" }, body: "forged" }, { mac: "wrong" });
  const { source, eventId, generation } = job.event;
  const trust = trustJob(job, true);
  expect(trust.job.event).toMatchObject({
    ...{ source, eventId, generation },
    ...{ bodyHash: "", headers: {}, body: undefined },
  });
  expect(codes(trust)).toEqual(["job_mac_invalid", "job_mac_invalid"]);
});

test("a body in the job of a replay is not taken, whoever wrote it", () => {
  const job = makeJob({ generation: 1, body: "another body" });
  const trust = trustJob(job, true);
  expect(trust.job.event).toEqual({ ...job.event, headers: {}, body: undefined });
  expect(codes(trust)).toEqual(["replay_lost", "identity_expired"]);
  // Where jobs are not signed, it may be one that a person has added.
  expect(codes(trustJob(job, false))).toEqual(["body_missing", "identity_expired"]);
});

test("a job as the ingress wrote it is not refused, with its body or without", () => {
  expect(checkJob(makeJob({ body: Buffer.from([0, 255]) }))).toBeUndefined();
  expect(checkJob(makeJob({ body: undefined }))).toBeUndefined();
  expect(checkJob(makeJob({ eventId: "é|*{x}\n:../\u202e" }))).toBeUndefined();
});

test("a body that is not the one that was verified is refused", () => {
  const { bodyHash } = makeJob({ body: "genuine" }).event;
  expect(checkJob(makeJob({ body: "forged", bodyHash }))?.code).toBe("body_hash_mismatch");
});

test.each([
  { eventId: "" },
  { eventId: "a\0" },
  { eventId: "\ud800" },
  { eventId: "é".repeat(513) },
  { type: "a\0" },
  { type: "a".repeat(257) },
])("what Postgres could not hold is refused: %o", (event) => {
  expect(checkJob(makeJob(event))?.code).toBe("invalid_envelope");
});
