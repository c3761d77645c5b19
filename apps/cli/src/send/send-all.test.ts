import { expect, test } from "vitest";
import { IN_FLIGHT, type Reply, sendAll } from "./send-many.ts";

const accepted: Reply = { kind: "answer", status: 202, body: "", ms: 1 };
const refused: Reply = { kind: "no_answer", reason: "connect ECONNREFUSED", refused: true };
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("every delivery is made once, a few of them at once", async () => {
  const made: number[] = [];
  let inFlight = 0;
  let inFlightMax = 0;
  await sendAll(
    50,
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
  expect(inFlightMax).toBe(IN_FLIGHT);
});

test("nobody listening ends it at once", async () => {
  let made = 0;
  const sending = sendAll(
    1_000,
    async () => {
      made += 1;
      await turn();
      return refused;
    },
    () => {},
  );
  await expect(sending).rejects.toMatchObject({ code: "ingress_unreachable" });
  expect(made).toBeLessThanOrEqual(IN_FLIGHT);
});

test("an ingress that goes away in the middle is counted, not an end", async () => {
  const replies: Reply[] = [];
  await sendAll(
    IN_FLIGHT + 7,
    async (index) => (index < IN_FLIGHT ? accepted : refused),
    (reply) => replies.push(reply),
  );
  expect(replies.filter((reply) => reply.kind === "no_answer")).toHaveLength(7);
});
