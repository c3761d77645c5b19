import { expect, test } from "vitest";
import type { Reply } from "./post-delivery.ts";
import { sendAll } from "./send-many.ts";

const accepted: Reply = { kind: "answer", status: 202, body: "", ms: 1 };
const refused: Reply = { kind: "no_answer", reason: "connect ECONNREFUSED", refused: true };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("every delivery is made once, no more of them at once than asked", async () => {
  const made: number[] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  await sendAll(
    { total: 50, concurrency: 4, ratePerSecond: undefined },
    async (index) => {
      made.push(index);
      inFlight += 1;
      inFlightMax = Math.max(inFlightMax, inFlight);
      await turn();
      inFlight -= 1;
      return accepted;
    },
    () => {},
  );
  expect(made).toEqual(Array.from({ length: 50 }, (_, index) => index));
  expect(inFlightMax).toBe(4);
});

test("a rate holds back what the answers would allow", async () => {
  const startedAt = performance.now();
  const plan = { total: 11, concurrency: 20, ratePerSecond: 100 };
  await sendAll(
    plan,
    async () => accepted,
    () => {},
  );
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(95);
});

test("nobody listening ends it at once", async () => {
  let made = 0;
  const sending = sendAll(
    { total: 1_000, concurrency: 5, ratePerSecond: undefined },
    async () => {
      made += 1;
      await turn();
      return refused;
    },
    () => {},
  );
  await expect(sending).rejects.toMatchObject({ code: "ingress_unreachable" });
  expect(made).toBeLessThanOrEqual(5);
});

test("an ingress that goes away in the middle is counted, not an end", async () => {
  const replies: Reply[] = [];
  await sendAll(
    { total: 10, concurrency: 1, ratePerSecond: undefined },
    async (index) => (index < 3 ? accepted : refused),
    (reply) => replies.push(reply),
  );
  expect(replies.filter((reply) => reply.kind === "no_answer")).toHaveLength(7);
});
