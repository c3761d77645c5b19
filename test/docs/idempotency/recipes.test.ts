import { on, type Handler, type JobResult } from "@millrace/core";
import { sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { until } from "../../support/until.ts";
import { CIRCUMSTANCES, holding, jobOf, openPageShop, type Fact, type Pair } from "./page-shop.ts";

const shop = openForAll(openPageShop);

interface Recipe {
  readonly facts: Pair<Fact>;
  readonly fill?: string;
  readonly query: string;
  readonly right: object;
  readonly without: Readonly<Record<string, readonly string[]>>;
  readonly wrong: readonly [inTurn: object, inReverse: object, sideBySide: object];
}

function twice(type: string, data: object): Pair<Fact> {
  const fact = { type, data };
  return [fact, fact];
}
const always = (wrong: object) => [wrong, wrong, wrong] as const;

const flour = twice("stock.changed", { sku: "flour", available: 9 });
const paid = twice("order.paid", { order_id: "o1" });
const PLACED = `insert into orders values ('o1', 'ada', 30, 'placed');
  insert into customers values ('ada', 1, 0)`;
const POINTS = "select status, points from orders join customers on customers.id = customer";
const pay = ["update orders set status = 'paid'", "update customers set points = points + 30"];

const failed = (ip: string): Fact => ({ type: "sign_in.failed", data: { user_id: "u1", ip } });
const FAILURES = "select count(*)::int as failures from failed_sign_ins where user_id = 'u1'";

const profile = (type: string, second: number): Fact => ({
  type,
  data: { user_id: "u1", name: "Ada", updated_at: `2026-01-01T00:00:0${second}Z` },
});
const updated = profile("profile.updated", 1);
const deleted = profile("profile.deleted", 2);
const PROFILE = "insert into profiles values ('u1', 'Ada', '2026-01-01T00:00:00Z', false)";
const DELETED = { query: "select is_deleted from profiles", right: { is_deleted: true } };
const NOT_DELETED = { is_deleted: false };
const inCode = (isDeleted: boolean, second: number) => [
  `update profiles set updated_at = '2026-01-01T00:00:0${second}Z', is_deleted = ${isDeleted}
    where (select p.updated_at from profiles p) < '2026-01-01T00:00:0${second}Z'`,
];

const booking = (id: string, day = 1, rooms = ["blue"]): Fact => ({
  type: "rooms.booked",
  data: { booking_id: id, rooms, first_day: `2026-05-0${day}`, last_day: `2026-05-0${day + 1}` },
});

const RECIPES: Readonly<Record<string, Recipe>> = {
  "set, do not add: one change under two ids": {
    facts: flour,
    fill: "insert into stock values ('flour', 10)",
    ...{ query: "select available from stock", right: { available: 9 } },
    without: { "stock.changed": ["update stock set available = available - 1"] },
    wrong: always({ available: 8 }),
  },
  "insert, and ask whether the row is new: one order under two ids": {
    facts: twice("order.placed", { order_id: "o1", customer: "ada", total: 30 }),
    query: "select (select count(*)::int from orders) as rows, orders as counted from customers",
    right: { rows: 1, counted: 1 },
    // It asks first, and so it is right as long as nothing happens at the same time.
    without: {
      "order.placed": [
        `insert into customers select 'ada', 1, 0 where not exists (select from orders)
           on conflict (id) do update set orders = customers.orders + 1`,
        "insert into orders values ('o1', 'ada', 30, 'placed') on conflict do nothing",
      ],
    },
    wrong: [{ counted: 1 }, { counted: 1 }, { counted: 2 }],
  },
  "guard the status: one payment under two ids": {
    ...{ facts: paid, fill: PLACED, query: POINTS, right: { status: "paid", points: 30 } },
    without: { "order.paid": pay },
    wrong: always({ points: 60 }),
  },
  "guard the status: a payment and the shipment after it": {
    facts: [paid[0], { type: "order.shipped", data: { order_id: "o1" } }],
    ...{ fill: PLACED, query: POINTS, right: { status: "shipped", points: 30 } },
    without: { "order.paid": pay, "order.shipped": ["update orders set status = 'shipped'"] },
    wrong: [{ status: "shipped" }, { status: "paid" }, { status: "shipped" }],
  },
  "choose the key: one user under two ids": {
    facts: twice("user.created", { user_id: "u1", email: "ada@example.com" }),
    ...{ query: "select count(*)::int as users from users", right: { users: 1 } },
    // A key of the event, for a user who has one.
    without: { "user.created": ["insert into users values (gen_random_uuid()::text, 'ada')"] },
    wrong: always({ users: 2 }),
  },
  "choose the key: two failed sign-ins of one user": {
    ...{ facts: [failed("::1"), failed("::2")], query: FAILURES, right: { failures: 2 } },
    // The user's key, for what the user does again and again.
    without: {
      "sign_in.failed": [
        "insert into failed_sign_ins values ('shop', 'u1', 'u1') on conflict do nothing",
      ],
    },
    wrong: always({ failures: 1 }),
  },
  "let an older event change nothing: without a comparison": {
    ...{ facts: [updated, deleted], fill: PROFILE, ...DELETED },
    without: {
      "profile.updated": ["update profiles set is_deleted = false"],
      "profile.deleted": ["update profiles set is_deleted = true"],
    },
    wrong: [DELETED.right, NOT_DELETED, DELETED.right],
  },
  "let an older event change nothing: with a comparison in the handler's code, the newer one first":
    {
      ...{ facts: [deleted, updated], fill: PROFILE, ...DELETED },
      without: { "profile.updated": inCode(false, 1), "profile.deleted": inCode(true, 2) },
      wrong: [DELETED.right, DELETED.right, NOT_DELETED],
    },
  "let an older event change nothing: with a deletion that removes the row": {
    ...{ facts: [updated, deleted], ...DELETED },
    without: {
      "profile.updated": [PROFILE],
      "profile.deleted": ["delete from profiles"],
    },
    // Side by side, the deletion does not see the row that is not yet committed.
    wrong: [[], NOT_DELETED, NOT_DELETED],
  },
  "lock by name: two bookings of one room": {
    facts: [booking("b1"), booking("b2")],
    ...{ query: "select count(*)::int as bookings from bookings", right: { bookings: 1 } },
    without: {
      "rooms.booked": [
        `insert into bookings select gen_random_uuid()::text, 'blue', '2026-05-01', '2026-05-02'
          where not exists (select from bookings)`,
      ],
    },
    wrong: [{ bookings: 1 }, { bookings: 1 }, { bookings: 2 }],
  },
};

describe.each(Object.entries(RECIPES))("%s", (_, { facts, fill, query, right, ...recipe }) => {
  const without = Object.entries(recipe.without).map(([type, statements]) =>
    on("shop", type, async (_event, { tx }) => {
      for (const statement of statements) await tx.execute(sql.raw(statement));
    }),
  );
  const rows = (expected: object) => (Array.isArray(expected) ? expected : [expected]);

  async function compare(run: (handlers: readonly Handler[]) => Promise<unknown>, wrong: object) {
    for (const [handlers, expected] of [
      [without, wrong],
      [shop.handlers, right],
    ] as const) {
      await shop.begin(fill);
      await run(handlers);
      expect(await shop.ask(query)).toMatchObject(rows(expected));
    }
  }

  test.each(CIRCUMSTANCES)("two events %s", async (circumstance) => {
    const wrong = recipe.wrong[CIRCUMSTANCES.indexOf(circumstance)] ?? {};
    await compare((handlers) => shop.run(circumstance, handlers, facts), wrong);
  });

  if (facts[0] !== facts[1]) return;
  test("an event and its replay", async () => {
    await compare((handlers) => shop.replay(handlers, facts[0]), recipe.wrong[0]);
  });
});

test("an equal row is not written again", async () => {
  await shop.begin("insert into stock values ('flour', 9)");
  const version = () => shop.ask("select ctid::text from stock");
  const before = await version();
  await shop.run("one after the other", shop.handlers, flour);
  // To look for a conflict takes a lock on the row, which is no new version of it.
  expect(await version()).toEqual(before);
});

test("a replay counts no failed sign-in again", async () => {
  await shop.begin();
  await shop.replay(shop.handlers, failed("::1"));
  expect(await shop.ask(FAILURES)).toEqual([{ failures: 1 }]);
});

test.each([
  ["b2", [{ kind: "completed" }, { kind: "failed", code: "permanent_error" }]],
  ["b1", [{ kind: "completed" }, { kind: "completed" }]],
])(
  "of two bookings of a room at once, b1 and %s, another one fails, and says why",
  async (id, ends) => {
    await shop.begin();
    const results = await shop.run("side by side", shop.handlers, [booking("b1"), booking(id)]);
    expect(results).toMatchObject(ends);
    expect(await shop.ask("select id from bookings")).toEqual([{ id: "b1" }]);
  },
);

async function inOppositeOrders(handlers: readonly Handler[]): Promise<string[]> {
  await shop.begin();
  const holder = await shop.connect();
  const [one, other] = shop.startWorkers(handlers);
  const runs: Promise<JobResult>[] = [];
  try {
    await holder.query("begin");
    await holder.query("select pg_advisory_xact_lock(hashtextextended('room blue', 0))");
    // The lock is given in the order in which it was asked for.
    runs.push(one.process(jobOf(booking("b1", 1, ["blue", "red"]))));
    await until(async () => (await shop.lockWaits()) === 1);
    runs.push(other.process(jobOf(booking("b2", 3, ["red", "blue"]))));
    await until(async () => (await shop.lockWaits()) === 2);
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  return (await Promise.all(runs)).map(({ kind }) => kind).toSorted();
}

test("of two handlers that lock two names in opposite orders one is rolled back; in one order, none is", async () => {
  const inGivenOrder = on("shop", "rooms.booked", async (event, { tx }) => {
    for (const room of event.payload.data.rooms as string[]) {
      const name = `room ${room}`;
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`);
    }
  });
  expect(await inOppositeOrders([inGivenOrder])).toEqual(["completed", "retry"]);
  expect(await inOppositeOrders(shop.handlers)).toEqual(["completed", "completed"]);
});

test("a worker whose connection dies keeps no name", async () => {
  let pid: unknown;
  const { held, written, goOn } = holding(shop.handlers, async (tx) => {
    pid = (await tx.execute(sql`select pg_backend_pid() as pid`)).rows[0]?.["pid"];
  });
  await shop.begin();
  const dying = shop.startWorkers(held)[0].process(jobOf(booking("b1")));
  await written;
  const other = shop.startWorkers(shop.handlers)[1].process(jobOf(booking("b2")));
  await until(async () => (await shop.lockWaits()) > 0);
  await shop.ask("select pg_terminate_backend($1)", [pid]);
  expect(await other).toMatchObject({ kind: "completed" });
  goOn();
  expect(await dying).toMatchObject({ kind: "retry" });
  expect(await shop.ask("select id from bookings")).toEqual([{ id: "b2" }]);
});
