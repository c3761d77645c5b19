/** What the page's own tests leave out: each further sample does what the words beside it say. */
export const FURTHER_TESTS = `import { createServer } from "node:http";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import config from "./millrace.config.ts";
import { orders, payments, products, receipts, shows } from "./schema.ts";

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

test("a receipt is sent under one key, however many attempts it takes", async () => {
  const keys: (string | undefined)[] = [];
  const mailer = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]?.toString());
    response.writeHead(keys.length === 1 ? 503 : 200).end();
  });
  await new Promise<void>((resolve) => void mailer.listen(0, "127.0.0.1", resolve));
  const address = mailer.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.env["MAILER_URL"] = \`http://127.0.0.1:\${port}\`;
  const invoice = { data: { object: { id: "in_1" } } };
  const sent = await environment.deliver("stripe", "invoice.paid", invoice, { id: "evt_9", attempts: 2 });
  mailer.closeAllConnections();
  mailer.close();
  expect(sent).toMatchObject({ status: "completed", attempts: 2 });
  expect(keys).toEqual(["evt_9.0", "evt_9.0"]);
  expect(await environment.db.select().from(receipts)).toEqual([{ id: "in_1" }]);
});
`;
