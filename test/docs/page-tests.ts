import { CUSTOM_PROVIDER_PAGE_TESTS } from "./custom-provider-page-tests.ts";
import { HANDLERS_PAGE_TESTS } from "./handlers-page-tests.ts";

/**
 * What the samples of the pages need that is not on them, and tests that do what the words next to them
 * say. By the folder that a page's samples are put into.
 */
export const PAGE_TESTS: Readonly<Record<string, string>> = {
  "readme/schema.ts": `import { bigint, pgTable, text } from "drizzle-orm/pg-core";

export const payments = pgTable("payments", {
  id: text().primaryKey(),
  amount: bigint({ mode: "number" }).notNull(),
});
`,
  "readme/migrations/0001_payments.sql":
    "create table payments (id text primary key, amount bigint not null);\n",
  "readme/example.test.ts": `import { deliver } from "millrace/testing";
import { expect, test } from "vitest";
import config from "./millrace.config.ts";
import { payments } from "./schema.ts";

test("the example of the README writes a payment", async () => {
  const payment = { data: { object: { id: "pi_1", amount_received: 500 } } };
  const { status } = await deliver(config, "stripe", "payment_intent.succeeded", payment, {
    directory: import.meta.dirname,
    check: async ({ db }) => {
      expect(await db.select().from(payments)).toEqual([{ id: "pi_1", amount: 500 }]);
    },
  });
  expect(status).toBe("completed");
});
`,
  "configuration/handlers.ts": "export default [];\n",
  "frameworks/millrace.config.ts": `import { defineConfig, stripe } from "millrace";

export default defineConfig({ sources: { stripe: stripe() } });
`,
  "custom-provider/sender.test.ts": CUSTOM_PROVIDER_PAGE_TESTS,
  "handlers/further.test.ts": HANDLERS_PAGE_TESTS,
  "recipes/handlers.test.ts": `import { deliver, createTestEnvironment } from "millrace/testing";
import { expect, test } from "vitest";
import config from "./millrace.config.ts";
import { payments } from "./schema.ts";

test("a refund ends the same before its payment and after it", async () => {
  const environment = await createTestEnvironment(config, { directory: import.meta.dirname });
  const payment = (id: string) => ({ data: { object: { id, amount_received: 500, currency: "eur" } } });
  const refund = (id: string) => ({ data: { object: { payment_intent: id, amount: 500, currency: "eur" } } });
  await environment.deliver("stripe", "payment_intent.succeeded", payment("pi_1"));
  await environment.deliver("stripe", "charge.refunded", refund("pi_1"));
  await environment.deliver("stripe", "charge.refunded", refund("pi_2"));
  await environment.deliver("stripe", "payment_intent.succeeded", payment("pi_2"));
  expect(await environment.db.select().from(payments).orderBy(payments.id)).toMatchObject([
    { id: "pi_1", status: "refunded" },
    { id: "pi_2", status: "refunded" },
  ]);
  await environment.close();
});
`,
  "recipes/customers.test.ts": `import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineConfig, stripe } from "millrace";
import { deliver } from "millrace/testing";
import { expect, test, vi } from "vitest";
import handlers, { customers } from "./customers.ts";

test("the object of a notification is fetched and written", async () => {
  const server = createServer(({ url }, response) => response.end(JSON.stringify({ id: "cus_1", email: url })));
  await once(server.listen(0, "127.0.0.1"), "listening");
  vi.stubEnv("STRIPE_API_URL", "http://127.0.0.1:" + (server.address() as AddressInfo).port);
  const config = defineConfig({ sources: { stripe: stripe() }, handlers, migrations: "./migrations" });
  const notification = { related_object: { id: "cus_1", url: "/v1/customers/cus_1" } };
  await deliver(config, "stripe", "v1.customer.updated", notification, {
    directory: import.meta.dirname,
    check: async ({ db }) =>
      expect(await db.select().from(customers)).toMatchObject([{ id: "cus_1", email: "/v1/customers/cus_1" }]),
  });
  server.close();
});
`,
  "recipes-2/handlers.test.ts": `import { createTestEnvironment } from "millrace/testing";
import { expect, test } from "vitest";
import config from "./millrace.config.ts";
import { issues } from "./schema.ts";

test("an older state of an issue that comes late changes nothing", async () => {
  const environment = await createTestEnvironment(config, { directory: import.meta.dirname });
  const issue = { id: 7, title: "It leaks" };
  const state = (state: string, updated_at: string) => ({ action: "edited", issue: { ...issue, state, updated_at } });
  await environment.deliver("github", "issues", state("closed", "2026-01-02T00:00:00Z"));
  await environment.deliver("github", "issues", state("open", "2026-01-01T00:00:00Z"));
  expect(await environment.db.select().from(issues)).toMatchObject([{ id: 7, state: "closed" }]);
  await environment.close();
});
`,
  "recipes-3/sender.test.ts": `import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import config from "./millrace.config.ts";
import { signBill, signOrder } from "./sender.ts";

const { orders, billing } = config.sources;

function received(source: typeof orders, secret: string, sent: { headers: Record<string, string>; body: string }) {
  const delivery = {
    method: "POST",
    url: "/webhooks/acme",
    headers: sent.headers,
    body: Buffer.from(sent.body),
    receivedAtMs: Date.now(),
  };
  const verified = source.provider.createVerifier([secret]).verify(delivery);
  return { verified, identified: source.provider.identify(delivery) };
}

test("what the smallest sender signs is verified and identified", () => {
  const secret = "a secret of some length";
  const sent = signOrder({ id: "o_1", type: "order.created" }, secret);
  const { verified, identified } = received(orders, secret, sent);
  expect(verified).toMatchObject({ ok: true });
  expect(identified).toMatchObject({ events: [{ eventId: "o_1", type: "order.created" }] });
  expect(orders.provider.idIsSigned).toBe(true);
  expect(received(orders, "another secret", sent).verified).toMatchObject({ ok: false });
});

test("what the sender with every option signs is verified and identified", () => {
  const secret = randomBytes(24).toString("base64");
  const sent = signBill("b_1", { name: "bill.due" }, secret);
  const { verified, identified } = received(billing, secret, sent);
  expect(verified).toMatchObject({ ok: true });
  expect(identified).toMatchObject({ events: [{ eventId: "b_1", type: "bill.due" }] });
  expect(billing.provider.idIsSigned).toBe(true);
  expect(received(billing, \`whsec_\${secret}\`, sent).verified).toMatchObject({ ok: true });
  const other = { ...sent, headers: { ...sent.headers, "x-billing-id": "b_2" } };
  expect(received(billing, secret, other).verified).toMatchObject({ code: "invalid_signature" });
});
`,
  "with-prisma-or-kysely/handlers.test.ts": `import { sql } from "drizzle-orm";
import { defineConfig, hmac, on } from "millrace";
import { createTestEnvironment, type TestEnvironment } from "millrace/testing";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import kyselyHandlers from "./kysely-handlers.ts";
import { kyselyOn } from "./kysely-on.ts";
import outboxHandlers from "./outbox-handlers.ts";
import prismaHandlers from "./prisma-handlers.ts";
import { prismaOn } from "./prisma-on.ts";
import { workOffOne } from "./work-off-outbox.ts";

const sender = () => hmac({ header: "x-signature", id: "json:event_id", type: "json:type" });
const seen: { kysely?: unknown; prisma?: unknown } = {};
const config = defineConfig({
  sources: { kysely: sender(), prisma: sender(), outbox: sender() },
  migrations: "./migrations",
  handlers: [
    ...kyselyHandlers,
    ...prismaHandlers,
    ...outboxHandlers,
    on("kysely", "*", async (event, { tx }) => {
      const db = kyselyOn<{ payments: { id: string; amount: string; paid_at: string } }>(tx);
      if (event.type === "read") seen.kysely = await db.selectFrom("payments").selectAll().execute();
      if (event.type === "begin") await db.transaction().execute(async () => {});
      if (event.payload.fails === true) throw new Error("and so it is undone");
    }),
    on("prisma", "*", async (event, { tx }) => {
      const prisma = prismaOn(tx);
      if (event.type === "read") seen.prisma = await prisma.order.findMany({ include: { items: true } });
      if (event.type === "savepoint") {
        const failed = await prisma
          .$transaction(async (inner) => inner.order.create({ data: { id: "o1", amount: 1n } }))
          .then(() => false, () => true);
        const id = \`after \${failed}\`;
        await prisma.order.upsert({ where: { id }, create: { id, amount: 2n }, update: {} });
      }
      if (event.payload.fails === true) throw new Error("and so it is undone");
    }),
  ],
});

let environment: TestEnvironment;
let pool: pg.Pool;
beforeAll(async () => {
  environment = await createTestEnvironment(config, { directory: import.meta.dirname });
  pool = new pg.Pool({ connectionString: environment.databaseUrl });
});
afterAll(async () => {
  await pool.end();
  await environment.close();
});
const rows = async (text: string) => (await environment.db.execute(sql.raw(text))).rows;

test("what Kysely writes is there when the event is completed, and only then", async () => {
  const payment = { id: "p1", amount: 500, paid_at: "2026-01-31T12:00:00Z", coupon: "MILL" };
  expect(await environment.deliver("kysely", "payment.succeeded", payment)).toMatchObject({ status: "completed" });
  // The coupon is used: the savepoint is undone, the payment is not.
  expect(await environment.deliver("kysely", "payment.succeeded", { ...payment, id: "p2" })).toMatchObject({ status: "completed" });
  const failing = { ...payment, id: "p3", coupon: undefined, fails: true };
  expect(await environment.deliver("kysely", "payment.succeeded", failing)).toMatchObject({ status: "pending" });
  expect(await rows("select id from payments order by id")).toEqual([{ id: "p1" }, { id: "p2" }]);
  expect(await rows("select code from coupons")).toEqual([{ code: "MILL" }]);
});

test("Kysely reads times and bigints as text, and begins no transaction of its own", async () => {
  await environment.deliver("kysely", "read", {});
  expect(seen.kysely).toMatchObject([{ amount: "500", paid_at: expect.stringMatching(/^2026-01-31/) }, {}]);
  const { error } = await environment.deliver("kysely", "begin", {});
  expect(error?.message).toContain("Use tx.transaction");
});

test("what Prisma writes is there when the event is completed, and only then", async () => {
  const order = { id: "o1", amount: 500, skus: ["flour", "bran"] };
  expect(await environment.deliver("prisma", "order.placed", order)).toMatchObject({ status: "completed", error: undefined });
  const failing = { ...order, id: "o2", fails: true };
  expect(await environment.deliver("prisma", "order.placed", failing)).toMatchObject({ status: "pending" });
  expect(await rows("select id, amount from orders")).toEqual([{ id: "o1", amount: "500" }]);
  expect(await rows("select sku, order_id from items order by id")).toEqual([
    { sku: "flour", order_id: "o1" },
    { sku: "bran", order_id: "o1" },
  ]);
});

test("Prisma reads bigints, times and related rows as it does elsewhere", async () => {
  await environment.deliver("prisma", "read", {});
  const [order] = seen.prisma as { placedAt: Date }[];
  expect(order).toMatchObject({ id: "o1", amount: 500n, items: [{ sku: "flour" }, { sku: "bran" }] });
  expect(Math.abs(order!.placedAt.getTime() - Date.now())).toBeLessThan(600_000);
});

test("a query that fails in Prisma's transaction undoes that alone", async () => {
  expect(await environment.deliver("prisma", "savepoint", {})).toMatchObject({ status: "completed", error: undefined });
  expect(await rows("select id from orders order by id")).toEqual([{ id: "after true" }, { id: "o1" }]);
});

test("an outbox row is there once, and stays until its work is done", async () => {
  for (let time = 0; time < 2; time += 1) {
    await environment.deliver("outbox", "invoice.paid", { n: 1 }, { id: "e1" });
  }
  const failing = workOffOne(pool, () => Promise.reject(new Error("not now")));
  await expect(failing).rejects.toThrow("not now");
  const done: unknown[] = [];
  const workOff = () => workOffOne(pool, async (event) => void done.push(event));
  expect(await workOff()).toBe(true);
  expect(await workOff()).toBe(false);
  expect(done).toMatchObject([{ event_id: "e1", type: "invoice.paid", payload: { n: 1 } }]);
});
`,
};
