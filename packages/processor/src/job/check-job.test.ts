import { expect, test } from "vitest";
import { checkJob } from "./check-job.ts";
import { makeJob } from "../testing/make-job.ts";

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
