import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import config from "./millrace.config.ts";
import { carriers, issues, payments, shipments, users } from "./schema.ts";

// How one tests handlers: what is delivered here is signed, verified, recorded and handled as in
// production, on a scratch database with the store's own tables.

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await createTestEnvironment(config, { directory: import.meta.dirname });
});
afterAll(() => environment.close());

test("a user that is created is in the table", async () => {
  const ada = { user_id: "u1", email: "ada@example.com", name: "Ada" };
  const { status, outcome } = await environment.deliver("hookmesh", "user.created", {
    payload: ada,
  });
  expect({ status, outcome }).toEqual({ status: "completed", outcome: "handled" });
  expect(await environment.db.select().from(users)).toMatchObject([{ id: "u1", name: "Ada" }]);
});

test("a subscription that comes before its user waits for it", async () => {
  const payload = { user_id: "u2", tier: "gold" };
  const early = await environment.deliver("hookmesh", "subscription.created", { payload });
  expect(early).toMatchObject({ status: "pending", attempts: 1 });
  expect(early.error?.message).toContain("not created yet");

  await environment.deliver("hookmesh", "user.created", { payload: { user_id: "u2" } });
  const later = await environment.attempt("hookmesh", early.event.event_id);
  expect(later).toMatchObject({ status: "completed", attempts: 2 });
});

test("an order by an unknown carrier fails at once, and goes out when it is sent again", async () => {
  const payload = { order_id: "o1", carrier: "Pigeon Post" };
  const order = { payload };
  const failed = await environment.deliver("hookmesh", "order.shipped", order, { id: "evt_o1" });
  expect(failed).toMatchObject({ status: "failed", error: { code: "permanent_error" } });
  expect(await environment.db.select().from(shipments)).toEqual([]);

  await environment.db.insert(carriers).values({ name: "Pigeon Post" });
  const again = await environment.deliver("hookmesh", "order.shipped", order, { id: "evt_o1" });
  expect(again.status).toBe("completed");
  expect(await environment.db.select().from(shipments)).toMatchObject([{ orderId: "o1" }]);
});

test("a refund ends the same before its payment and after it", async () => {
  const refund = { data: { object: { payment_intent: "pi_1", customer: "c1", amount: 500 } } };
  const payment = { data: { object: { id: "pi_1", customer: "c1", amount_received: 500 } } };
  await environment.deliver("stripe", "charge.refunded", refund);
  await environment.deliver("stripe", "payment_intent.succeeded", payment);
  expect(await environment.db.select().from(payments)).toMatchObject([
    { id: "pi_1", status: "refunded" },
  ]);
});

test("an issue's older state that comes late does not undo a newer one", async () => {
  const repository = { full_name: "mill/race" };
  const issue = { number: 7, title: "A leak", state: "closed", updated_at: "2026-05-02T00:00:00Z" };
  const older = { ...issue, state: "open", updated_at: "2026-05-01T00:00:00Z" };
  await environment.deliver("github", "issues", { issue, repository });
  await environment.deliver("github", "issues", { issue: older, repository });
  expect(await environment.db.select().from(issues)).toMatchObject([
    { number: 7, state: "closed" },
  ]);
});
