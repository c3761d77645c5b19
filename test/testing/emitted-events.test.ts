import { defineConfig, hookMesh, internal, on, PermanentError, RetryLater } from "millrace";
import { createTestEnvironment } from "millrace/testing";
import { beforeEach, expect, test } from "vitest";
import { openForEach } from "../support/open-for.ts";

const DAY_MS = 86_400_000;
const done: string[] = [];
let mailerIsAway = false;

const config = defineConfig({
  sources: {
    shop: hookMesh({ attempts: 2 }),
    mail: internal({ attempts: 2 }),
    patient: internal({ waitMaxMs: 3 * DAY_MS }),
  },
  handlers: [
    on("shop", "order", async ({ payload }, { emit }) => {
      await emit("mail", "receipt", { order: payload.order });
      await emit("mail", "review", { order: payload.order }, { afterMs: 7 * DAY_MS });
      if (payload.broken === true) throw new Error("the order is broken");
    }),
    on("mail", ["receipt", "review", "reminder"], {
      call: async ({ type, payload }, { once }) => {
        const to = await once("address", () => `${payload.order}@example.com`);
        await once("send", (key) => {
          if (mailerIsAway) throw new Error("the mailer is away");
          done.push(`${type} to ${to} as ${key}`);
        });
      },
      write: async ({ type, payload }, { emit }) => {
        if (type === "review") await emit("mail", "reminder", payload, { afterMs: DAY_MS });
      },
    }),
    on("shop", "parcel", ({ id }, { emit }) => emit("patient", "watch", { id })),
    on("patient", "watch", () => {
      done.push("watch");
      throw new RetryLater({ afterMs: DAY_MS, reason: "Not delivered yet" });
    }),
    on("shop", "refused", (_event, { emit }) => emit("mail", "unheard", {})),
    on("mail", "unheard", () => {
      throw new PermanentError("no such mailbox");
    }),
  ],
});

const environment = openForEach(() => createTestEnvironment(config));
beforeEach(() => {
  done.length = 0;
  mailerIsAway = false;
});

const order = (options?: object, payload: object = { order: "o1" }) =>
  environment.deliver("shop", "order", payload, { id: "evt_1", ...options });
const receipt = "receipt to o1@example.com as mail.shop|evt_1|0|receipt|#1.0.send";
const review = "review to o1@example.com as mail.shop|evt_1|0|review|#1.0.send";

test("what was emitted is shown, and does not run by itself", async () => {
  const delivered = await order();
  expect(await environment.emitted(delivered)).toMatchObject([
    {
      status: "pending",
      attempts: 0,
      nextAttemptInMs: undefined,
      payload: { order: "o1" },
      steps: [],
      event: { source: "mail", type: "receipt", event_id: "shop|evt_1|0|receipt|#1" },
    },
    { status: "pending", nextAttemptInMs: expect.any(Number), event: { type: "review" } },
  ]);
  expect(done).toEqual([]);
});

test("a failed attempt has emitted nothing", async () => {
  const delivered = await order({ settle: true }, { order: "o1", broken: true });
  expect(delivered).toMatchObject({ status: "failed", attempts: 2 });
  expect(await environment.emitted(delivered)).toEqual([]);
});

test("settle runs what was emitted and is due, and its steps are there", async () => {
  const delivered = await order({ settle: true });
  expect(done).toEqual([receipt]);
  const [sent, later] = await environment.emitted(delivered);
  expect(sent).toMatchObject({ status: "completed", attempts: 1 });
  expect(sent?.steps).toEqual([
    { name: "address", result: "o1@example.com" },
    { name: "send", result: undefined },
  ]);
  expect(later).toMatchObject({ status: "pending", attempts: 0 });
  expect(later?.nextAttemptInMs).toBeGreaterThan(6.9 * DAY_MS);
  expect(later?.nextAttemptInMs).toBeLessThanOrEqual(7 * DAY_MS);
});

test("settle attempts what was emitted until it is settled, or as often as it is told", async () => {
  mailerIsAway = true;
  const once = await order({ settle: true, attempts: 1 });
  expect(await environment.emitted(once)).toMatchObject([
    { status: "pending", attempts: 1, error: { code: "handler_failed" } },
    { attempts: 0 },
  ]);
  const refused = await environment.deliver("shop", "refused", {}, { settle: true });
  expect(await environment.emitted(refused)).toMatchObject([
    { status: "failed", attempts: 1, error: { code: "permanent_error" } },
  ]);
});

test("settle leaves what waits to advance, and an event that was delivered before is settled too", async () => {
  const first = await order();
  const again = await order({ settle: true });
  expect(again.answer.status).toBe(200);
  expect(await environment.emitted(first)).toMatchObject([
    { status: "completed" },
    { status: "pending" },
  ]);
});

test("advance runs what is due within so many milliseconds, and what that emits within them", async () => {
  await order({ settle: true });
  expect(await environment.advance(6 * DAY_MS)).toEqual([]);
  expect(await environment.advance(DAY_MS)).toMatchObject([
    { status: "completed", event: { type: "review" } },
  ]);
  expect(done).toEqual([receipt, review]);
  expect(await environment.advance(DAY_MS - 60_000)).toEqual([]);
  expect(await environment.advance(60_000)).toMatchObject([{ event: { type: "reminder" } }]);
  expect(await environment.advance(365 * DAY_MS)).toEqual([]);
});

test("one advance runs a whole chain of delays", async () => {
  await order();
  const ran = await environment.advance(8 * DAY_MS);
  expect(ran.map(({ event }) => event.type)).toEqual(["receipt", "review", "reminder"]);
});

test("advance retries what has failed, when its back-off is over", async () => {
  mailerIsAway = true;
  const delivered = await order({ settle: true, attempts: 1 });
  mailerIsAway = false;
  const ran = await environment.advance(DAY_MS);
  expect(ran).toMatchObject([{ status: "completed", attempts: 2, event: { type: "receipt" } }]);
  expect(ran[0]?.steps.map(({ name }) => name)).toEqual(["address", "send"]);
  expect(await environment.emitted(delivered)).toMatchObject([{ status: "completed" }, {}]);
});

test("what waits by RetryLater runs when its wait is over, and fails when it has waited too long", async () => {
  const parcel = await environment.deliver("shop", "parcel", {}, { settle: true });
  expect(await environment.emitted(parcel)).toMatchObject([
    { status: "pending", attempts: 1, error: { code: "retry_later" } },
  ]);
  expect(done).toEqual(["watch"]);
  expect(await environment.advance(DAY_MS / 2)).toEqual([]);
  expect(await environment.advance(DAY_MS / 2)).toMatchObject([{ status: "pending", attempts: 2 }]);
  await environment.advance(5 * DAY_MS);
  expect(await environment.emitted(parcel)).toMatchObject([
    { status: "failed", error: { code: "waited_too_long" } },
  ]);
});

test("a time that is none is refused", async () => {
  for (const ms of [-1, Number.NaN, Infinity]) {
    await expect(environment.advance(ms)).rejects.toThrow(RangeError);
  }
});

test("nothing is delivered to an internal source", async () => {
  await expect(environment.deliver("mail", "receipt")).rejects.toMatchObject({
    code: "unknown_source",
    message: expect.stringContaining("it is an internal source"),
  });
});
