import Stripe from "stripe";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { GET, POST } from "../../examples/next/app/webhooks/[source]/route.ts";
import { queryOnce } from "../support/query-once.ts";
import { migratedDatabase, SECRET } from "./migrated-database.ts";

const ROUTE = "../../examples/next/app/webhooks/[source]/route.ts";
let database: Awaited<ReturnType<typeof migratedDatabase>>;

beforeAll(async () => {
  database = await migratedDatabase("next");
  for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
});
afterAll(async () => {
  const { closeReceiver } = await import("../../examples/next/webhooks.ts");
  await closeReceiver();
  vi.unstubAllEnvs();
  await database.drop();
});

test("the route handler of the example for Next.js takes signed bytes in, and nothing else", async () => {
  const route = (await import(ROUTE)) as { GET: typeof GET; POST: typeof POST };
  const body = '{ "id":"evt_1",\n "type": "invoice.paid", "n":1.0, "é":"\\u0000" }';
  const { webhooks } = new Stripe("sk_test_unused");
  const signature = webhooks.generateTestHeaderString({ payload: body, secret: SECRET });
  const call = async (source: string, init: RequestInit, handle = route.POST) => {
    const request = new Request(`https://app.example.com/webhooks/${source}`, init);
    const response = await handle(request, { params: Promise.resolve({ source }) });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  const signed = { method: "POST", headers: { "stripe-signature": signature }, body };
  expect(await call("stripe", signed)).toEqual({ status: 202, body: { status: "accepted" } });
  expect(await call("stripe", signed)).toEqual({ status: 200, body: { status: "duplicate" } });
  expect(await call("stripe", { ...signed, body: `${body} ` })).toMatchObject({
    status: 401,
    body: { error: { code: "invalid_signature" } },
  });
  expect(await call("nobody", signed)).toMatchObject({ status: 401 });
  expect(await call("stripe", {}, route.GET)).toMatchObject({ status: 405 });

  const rows = await queryOnce(database.url, "select body from millrace.bodies");
  expect(rows.map((row) => String(row["body"]))).toEqual([body]);
});
