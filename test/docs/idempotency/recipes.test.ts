import { on, PermanentError, type HandlerFunction } from "@millrace/core";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  CIRCUMSTANCES,
  openPageShop,
  type Circumstance,
  type Fact,
  type PageShop,
  type Pair,
} from "./page-shop.ts";

// Each recipe of docs/idempotency.md, next to a handler without it, in the same circumstances: two events, in two
// workers, on a real Postgres.

let shop: PageShop;
beforeAll(async () => {
  shop = await openPageShop();
});
afterAll(() => shop?.close());

interface Recipe {
  readonly facts: Pair<Fact>;
  /** SQL that fills the tables before. */
  readonly fill?: string;
  /** What is looked at afterward. */
  readonly query: string;
  /** What it gives with the page's handler, whatever the circumstance. */
  readonly right: unknown;
  /** The handler without the recipe, for the type of the facts. */
  readonly without: HandlerFunction;
  /** What it gives then. */
  readonly wrong: Readonly<Record<Circumstance, unknown>>;
}

function show(recipe: Recipe): void {
  const types = [...new Set(recipe.facts.map(({ type }) => type))];
  const without = [on("shop", types, recipe.without)];
  test.each(CIRCUMSTANCES)("two events %s", async (circumstance) => {
    await shop.begin(recipe.fill);
    await shop.run(circumstance, without, recipe.facts);
    expect(await shop.ask(recipe.query), "without the recipe").toEqual(recipe.wrong[circumstance]);

    await shop.begin(recipe.fill);
    await shop.run(circumstance, shop.handlers, recipe.facts);
    expect(await shop.ask(recipe.query), "with the recipe").toEqual(recipe.right);
  });

  const [first, second] = recipe.facts;
  if (first !== second) return;
  test("an event and its replay", async () => {
    await shop.begin(recipe.fill);
    await shop.replay(without, first);
    const wrong = recipe.wrong["one after the other"];
    expect(await shop.ask(recipe.query), "without the recipe").toEqual(wrong);

    await shop.begin(recipe.fill);
    await shop.replay(shop.handlers, first);
    expect(await shop.ask(recipe.query), "with the recipe").toEqual(recipe.right);
  });
}

/** One fact, in two events. */
function twice(type: string, data: object): Pair<Fact> {
  const fact = { type, data };
  return [fact, fact];
}
const always = (wrong: unknown) => ({
  "one after the other": wrong,
  "in reverse order": wrong,
  "side by side": wrong,
});

describe("set, do not add: one change under two ids", () => {
  show({
    facts: twice("stock.changed", { sku: "flour", available: 9 }),
    fill: "insert into stock values ('flour', 10)",
    query: "select available from stock",
    right: [{ available: 9 }],
    without: async (event, { tx }) => {
      const { sku } = event.payload.data;
      await tx.execute(sql`update stock set available = available - 1 where sku = ${sku}`);
    },
    wrong: always([{ available: 8 }]),
  });

  test("an equal row is not written again", async () => {
    const [changed] = twice("stock.changed", { sku: "flour", available: 9 });
    await shop.begin("insert into stock values ('flour', 9)");
    const version = () => shop.ask("select xmin::text, ctid::text from stock");
    const before = await version();
    await shop.run("one after the other", shop.handlers, [changed, changed]);
    // To look for a conflict takes a lock on the row, which is no new version of it.
    expect((await version()).map(({ ctid }) => ctid)).toEqual(before.map(({ ctid }) => ctid));
  });
});

describe("insert, and ask whether the row is new: one order under two ids", () => {
  const order = { order_id: "o1", customer: "ada", total: 30 };
  show({
    facts: twice("order.placed", order),
    query: "select (select count(*)::int from orders) as rows, orders as counted from customers",
    right: [{ rows: 1, counted: 1 }],
    // It asks first, and so it is right as long as nothing happens at the same time.
    without: async (event, { tx }) => {
      const { order_id: id, customer, total } = event.payload.data;
      const found = await tx.execute(sql`select from orders where id = ${id}`);
      if (found.rowCount === 1) return;
      await tx.execute(
        sql`insert into orders values (${id}, ${customer}, ${total}, 'placed') on conflict do nothing`,
      );
      await tx.execute(
        sql`insert into customers values (${customer}, 1, 0)
            on conflict (id) do update set orders = customers.orders + 1`,
      );
    },
    wrong: { ...always([{ rows: 1, counted: 1 }]), "side by side": [{ rows: 1, counted: 2 }] },
  });
});

const PLACED = `insert into orders values ('o1', 'ada', 30, 'placed');
  insert into customers values ('ada', 1, 0)`;

describe("guard the status: one payment under two ids", () => {
  show({
    facts: twice("order.paid", { order_id: "o1" }),
    fill: PLACED,
    query: "select status, points from orders join customers on customers.id = customer",
    right: [{ status: "paid", points: 30 }],
    without: async (event, { tx }) => {
      const { order_id: id } = event.payload.data;
      await tx.execute(sql`update orders set status = 'paid' where id = ${id}`);
      await tx.execute(
        sql`update customers set points = points + total from orders
             where orders.id = ${id} and customers.id = customer`,
      );
    },
    wrong: always([{ status: "paid", points: 60 }]),
  });
});

describe("guard the status: a payment and the shipment after it", () => {
  show({
    facts: [
      { type: "order.paid", data: { order_id: "o1" } },
      { type: "order.shipped", data: { order_id: "o1" } },
    ],
    fill: PLACED,
    query: "select status, points from orders join customers on customers.id = customer",
    right: [{ status: "shipped", points: 30 }],
    without: async (event, { tx }) => {
      const status = event.type === "order.paid" ? "paid" : "shipped";
      await tx.execute(sql`update orders set status = ${status}`);
      if (status === "paid") await tx.execute(sql`update customers set points = points + 30`);
    },
    wrong: {
      ...always([{ status: "shipped", points: 30 }]),
      "in reverse order": [{ status: "paid", points: 30 }],
    },
  });
});

describe("choose the key: one user under two ids", () => {
  show({
    facts: twice("user.created", { user_id: "u1", email: "ada@example.com" }),
    query: "select count(*)::int as users from users",
    right: [{ users: 1 }],
    // The event's key, for a user who has one.
    without: async (event, { tx }) => {
      const key = event.idempotencyKey;
      await tx.execute(sql`insert into users values (${key}, ${event.payload.data.email})`);
    },
    wrong: always([{ users: 2 }]),
  });
});

describe("choose the key: two failed sign-ins of one user", () => {
  const failed = (ip: string): Fact => ({ type: "sign_in.failed", data: { user_id: "u1", ip } });
  const query = "select count(*)::int as failures from failed_sign_ins where user_id = 'u1'";
  show({
    facts: [failed("::1"), failed("::2")],
    query,
    right: [{ failures: 2 }],
    // The user's key, for what the user does again and again.
    without: async (event, { tx }) => {
      const { user_id: id } = event.payload.data;
      await tx.execute(
        sql`insert into failed_sign_ins values ('shop', ${id}, ${id}) on conflict do nothing`,
      );
    },
    wrong: always([{ failures: 1 }]),
  });

  test("a replay counts none of them again; where the handler adds, it does", async () => {
    const adds = on("shop", "sign_in.failed", async (_event, { tx }) => {
      await tx.execute(sql`update customers set orders = orders + 1`);
    });
    await shop.begin("insert into customers values ('u1', 0, 0)");
    await shop.replay([adds], failed("::1"));
    expect(await shop.ask("select orders as failures from customers")).toEqual([{ failures: 2 }]);

    await shop.replay(shop.handlers, failed("::1"));
    expect(await shop.ask(query)).toEqual([{ failures: 1 }]);
  });
});

describe("let an older event change nothing: an update and the deletion after it", () => {
  const profile = (type: string, name: string, second: number): Fact => ({
    type,
    data: { user_id: "u1", name, updated_at: `2026-01-01T00:00:0${second}Z` },
  });
  const facts: Pair<Fact> = [
    profile("profile.updated", "Ada", 1),
    profile("profile.deleted", "Ada", 2),
  ];
  const query = "select name, is_deleted from profiles";
  const fill = "insert into profiles values ('u1', 'A.', '2026-01-01', false)";
  const updated = [{ name: "Ada", is_deleted: false }];
  const deleted = [{ name: "Ada", is_deleted: true }];

  describe("without a comparison", () => {
    show({
      ...{ facts, fill, query, right: deleted },
      without: async (event, { tx }) => {
        const { user_id: id, name, updated_at: time } = event.payload.data;
        const isDeleted = event.type === "profile.deleted";
        await tx.execute(
          sql`update profiles set name = ${name}, updated_at = ${time}, is_deleted = ${isDeleted}
               where user_id = ${id}`,
        );
      },
      wrong: { ...always(deleted), "in reverse order": updated },
    });
  });

  describe("with a comparison in the handler's code, the newer one first", () => {
    const [older, newer] = facts;
    show({
      ...{ facts: [newer, older], fill, query, right: deleted },
      without: async (event, { tx }) => {
        const { user_id: id, name, updated_at: time } = event.payload.data;
        const isDeleted = event.type === "profile.deleted";
        const { rows } = await tx.execute<{ at: Date }>(
          sql`select updated_at as at from profiles where user_id = ${id}`,
        );
        if (rows[0] !== undefined && new Date(rows[0].at) >= new Date(time)) return;
        await tx.execute(
          sql`update profiles set name = ${name}, updated_at = ${time}, is_deleted = ${isDeleted}
               where user_id = ${id}`,
        );
      },
      wrong: { ...always(deleted), "side by side": updated },
    });
  });

  describe("with a deletion that removes the row", () => {
    show({
      ...{ facts, query, right: deleted },
      without: async (event, { tx }) => {
        const { user_id: id, name, updated_at: time } = event.payload.data;
        if (event.type === "profile.deleted") {
          await tx.execute(sql`delete from profiles where user_id = ${id}`);
        } else {
          await tx.execute(
            sql`insert into profiles values (${id}, ${name}, ${time}, false)
                on conflict (user_id) do update set name = excluded.name, updated_at = excluded.updated_at
                  where profiles.updated_at < excluded.updated_at`,
          );
        }
      },
      // Side by side, the deletion does not see the row that is not yet committed.
      wrong: { ...always([]), "in reverse order": updated, "side by side": updated },
    });
  });
});

describe("lock by name: two bookings of one room", () => {
  const booking = (id: string): Fact => ({
    type: "rooms.booked",
    data: { booking_id: id, rooms: ["blue"], first_day: "2026-05-01", last_day: "2026-05-04" },
  });
  show({
    facts: [booking("b1"), booking("b2")],
    query: "select count(*)::int as bookings from bookings",
    right: [{ bookings: 1 }],
    without: async (event, { tx }) => {
      const { booking_id: id, rooms, first_day: first, last_day: last } = event.payload.data;
      const room: string = rooms[0];
      const taken = await tx.execute(
        sql`select from bookings where room = ${room} and first_day < ${last} and last_day > ${first}`,
      );
      if ((taken.rowCount ?? 0) > 0) throw new PermanentError("It is taken");
      await tx.execute(sql`insert into bookings values (${id}, ${room}, ${first}, ${last})`);
    },
    wrong: { ...always([{ bookings: 1 }]), "side by side": [{ bookings: 2 }] },
  });

  test("of two at the same time the second fails, and says why", async () => {
    await shop.begin();
    const results = await shop.run("side by side", shop.handlers, [booking("b1"), booking("b2")]);
    expect(results).toMatchObject([
      { kind: "completed" },
      { kind: "failed", code: "permanent_error" },
    ]);
  });

  test("one booking under two ids is no conflict with itself", async () => {
    await shop.begin();
    const results = await shop.run("side by side", shop.handlers, [booking("b1"), booking("b1")]);
    expect(results.map(({ kind }) => kind)).toEqual(["completed", "completed"]);
    expect(await shop.ask("select id from bookings")).toEqual([{ id: "b1" }]);
  });
});
