export const HANDLERS_PAGE_TESTS = `import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import config from "./millrace.config.ts";
import { cancellations, orders, payments, products, shows } from "./schema.ts";

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment(config, { directory: import.meta.dirname });
});
afterAll(() => environment.close());

test("a refund before its payment ends as one after it", async () => {
  const refund = { data: { object: { payment_intent: "pi_9", amount: 500 } } };
  const payment = { data: { object: { id: "pi_9", amount_received: 500 } } };
  await environment.deliver("stripe", "charge.refunded", refund);
  await environment.deliver("stripe", "payment_intent.succeeded", payment);
  expect(await environment.db.select().from(payments)).toMatchObject([{ status: "refunded" }]);
});

test("an order that is packed in the future waits until then", async () => {
  await environment.db.insert(products).values({ sku: "bran" });
  const packed_at = new Date(Date.now() + 3_600_000).toISOString();
  const payload = { order_id: "o9", sku: "bran", packed_at };
  const waiting = await environment.deliver("shop", "order.packed", { payload });
  expect(waiting).toMatchObject({ status: "pending", error: { message: expect.any(String) } });
  expect(waiting.nextAttemptInMs).toBeGreaterThan(3_000_000);
});

test("as many seats are booked as there are, however many want one at once", async () => {
  await environment.db.insert(shows).values({ id: "mill", seats: 3 });
  const booking = () => 
    // A wait for the row may take too long on a busy machine; then it is tried again.
    environment.deliver("shop", "seat.booked", { payload: { show: "mill" } }, { attempts: 5 });
  const booked = await Promise.all(Array.from({ length: 8 }, booking));
  expect(booked.filter(({ status }) => status === "completed")).toHaveLength(3);
  expect(await environment.db.select().from(shows)).toEqual([{ id: "mill", seats: 0 }]);
});

test("a coupon counts once, and the second order is placed all the same", async () => {
  for (const order_id of ["o1", "o2"]) {
    const payload = { order_id, coupon: "MILL10" };
    expect(await environment.deliver("shop", "order.placed", { payload })).toMatchObject({ status: "completed" });
  }
  expect(await environment.db.select().from(orders).orderBy(orders.id)).toEqual([
    { id: "o1", reduced: true },
    { id: "o2", reduced: false },
  ]);
});

test("a delivered order emits its mails once, and not before it completes", async () => {
  const payload = { order_id: "o7", email: "ada@example.com" };
  const order = await environment.deliver("shop", "order.delivered", { payload }, { id: "evt_7" });
  const emitted = await environment.emitted(order);
  expect(emitted.map(({ event }) => event.event_id)).toEqual([
    "shop|evt_7|0|receipt|#1",
    "shop|evt_7|0|review|#1",
  ]);
  expect(emitted[0]?.nextAttemptInMs).toBeUndefined();
  expect(emitted[1]?.nextAttemptInMs).toBeGreaterThan(6 * 86_400_000);
});

test("a cancelled order that does not match fails by its path, and one that is not paid is ignored", async () => {
  const wrong = { payload: { order_id: "o8", paid: "yes", payment_intent: "pi_8" } };
  const failed = await environment.deliver("shop", "order.cancelled", wrong);
  expect(failed).toMatchObject({ status: "failed", error: { code: "payload_mismatch" } });
  expect(failed.error?.message).toContain("payload.paid");
  const unpaid = { payload: { order_id: "o9", paid: false, payment_intent: "pi_9" } };
  expect(await environment.deliver("shop", "order.cancelled", unpaid)).toMatchObject({
    status: "completed",
    outcome: "ignored",
  });
  expect(await environment.db.select().from(cancellations)).toEqual([]);
});
`;
