import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onRedis, openOn, type TestServers } from "../../support/backends.ts";
import { createPipeline, type Pipeline } from "../../support/pipeline.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { loadPage, type Fact } from "./page-shop.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

describeOnRedis("the project of docs/idempotency.md, with an ingress and two workers", () => {
  let servers: TestServers;
  let page: Awaited<ReturnType<typeof loadPage>>;
  let pipeline: Pipeline;
  let ingressUrl: string;

  beforeAll(async () => {
    page = await loadPage();
    servers = await onRedis();
    const env = {
      MILLRACE_CONFIG: join(page.folder, "millrace.config.ts"),
      SHOP_WEBHOOK_SECRET: SECRET,
    };
    const { default: config } = await page.load("millrace.config.ts");
    pipeline = await openOn(servers, () => createPipeline(servers, env, config));
    ({ url: ingressUrl } = await pipeline.startInProcess("ingress"));
    await Promise.all([1, 2].map(() => pipeline.startInProcess("worker")));
  });
  afterAll(async () => {
    await pipeline?.stop();
    await servers?.release();
    await page?.remove();
  });

  test("ends as it should, with each fact under two ids, each delivered twice, all at once, in any order", async () => {
    const facts = ACCOUNTS.flatMap((n) => factsOf(n));
    const events = facts.flatMap((fact, index) =>
      ["a", "b"].map((copy) => ({ ...fact, id: `msg_${index}_${copy}` })),
    );
    const deliveries = shuffled([...events, ...events]);
    await Promise.all(deliveries.map((event) => deliver(ingressUrl, event)));
    await until(
      async () => {
        const settled = await rows("select from webhook_events where status <> 'pending'");
        return settled.length === events.length;
      },
      { what: "every event settled", withinMs: 110_000 },
    );
    // Of two bookings of one room, whoever is second fails, under both ids.
    const failed = await rows(
      `select type, ${COUNT} from webhook_events where status = 'failed' group by 1`,
    );
    expect(failed).toEqual([{ type: "rooms.booked", count: 2 * ACCOUNTS.length }]);
    const each = (row: object) => ACCOUNTS.map((n) => ({ n: `${n}`, ...row }));
    for (const [query, expected] of [
      ["select sku as n, available from stock order by 1", { available: 9 }],
      ["select id as n, orders, points from customers order by 1", { orders: 1, points: 30 }],
      ["select id as n, status from orders order by 1", { status: "shipped" }],
      ["select id as n from users order by 1", {}],
      // Two ids are two sign-ins: an id is all that a sign-in has.
      [`select user_id as n, ${COUNT} from failed_sign_ins group by 1 order by 1`, { count: 2 }],
      ["select user_id as n, is_deleted from profiles order by 1", { is_deleted: true }],
      [`select room as n, ${COUNT} from bookings group by 1 order by 1`, { count: 1 }],
    ] as const) {
      expect(await rows(query)).toEqual(each(expected));
    }
  });

  const rows = async (text: string) => (await pipeline.database.query(text)).rows;
});

const ACCOUNTS = [1, 2, 3, 4, 5];
const COUNT = "count(*)::int as count";

function factsOf(n: number): readonly Fact[] {
  const id = String(n);
  const booking = (name: string) => ({
    type: "rooms.booked",
    data: { booking_id: name + id, rooms: [id], first_day: "2026-05-01", last_day: "2026-05-04" },
  });
  const profile = (type: string, day: number) => ({
    type,
    data: { user_id: id, name: "Ada", updated_at: `2026-01-0${day}T00:00:00Z` },
  });
  return [
    { type: "stock.changed", data: { sku: id, available: 9 } },
    { type: "order.placed", data: { order_id: id, customer: id, total: 30 } },
    { type: "order.paid", data: { order_id: id } },
    { type: "order.shipped", data: { order_id: id } },
    { type: "user.created", data: { user_id: id, email: "ada@example.com" } },
    { type: "sign_in.failed", data: { user_id: id } },
    profile("profile.updated", 1),
    profile("profile.deleted", 2),
    booking("one"),
    booking("other"),
  ];
}

async function deliver(url: string, { id, type, data }: Fact & { id: string }): Promise<void> {
  const body = JSON.stringify({ type, data });
  const status = await until(async () => {
    const now = new Date();
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
      "webhook-signature": new Webhook(SECRET).sign(id, now, body),
    };
    const answer = await fetch(`${url}/webhooks/shop`, { method: "POST", headers, body });
    return answer.status !== 503 && answer.status;
  });
  expect([200, 202]).toContain(status);
}

function shuffled<T>(items: readonly T[]): readonly T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
