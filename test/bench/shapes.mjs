// What the handlers of the worker benchmark do, the same in every contender.
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgTable, text } from "drizzle-orm/pg-core";
import { numberOf } from "./event.mjs";

const FAILING_EVERY = 20;
const SLOW_EVERY = 500;
const SLOW_MS = 1_000;
const AWAIT_MS = 5;
const COUNTERS = 100_000;

const effects = pgTable("effects", { eventId: text("event_id") });
const counters = pgTable("counters", { id: integer(), events: integer() });

const INSERT = "INSERT INTO effects (event_id) VALUES ($1)";
const UPDATE = "UPDATE counters SET events = events + 1 WHERE id = $1";

const insert = (it) => it.query(INSERT, [it.eventId]);
const update = (it, row) => it.query(UPDATE, [row]);
const ownRow = ({ number }) => number % COUNTERS;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const updateOneOf = (rows) => async (it) => {
  await update(it, it.number % rows);
  await insert(it);
};

const failed = new Set();

/** `counts`: each event adds one to the counters. */
export const SHAPES = {
  insert: { title: "one INSERT", run: insert },
  pair: {
    title: "an INSERT, then an UPDATE of a row of its own",
    counts: true,
    run: async (it) => {
      await insert(it);
      await update(it, ownRow(it));
    },
  },
  together: {
    title: "an INSERT and an UPDATE of a row of its own, by Promise.all",
    counts: true,
    run: (it) => Promise.all([insert(it), update(it, ownRow(it))]),
  },
  typed: {
    title: "an INSERT, then an UPDATE of a row of its own, by drizzle's typed queries",
    counts: true,
    run: async (it) => {
      const db = it.db();
      await db.insert(effects).values({ eventId: it.eventId });
      await db
        .update(counters)
        .set({ events: sql`${counters.events} + 1` })
        .where(eq(counters.id, ownRow(it)));
    },
  },
  five: {
    title: "five statements: two SELECTs, an INSERT, two UPDATEs",
    run: async (it) => {
      const row = ownRow(it);
      await it.query("SELECT events FROM counters WHERE id = $1", [row]);
      await update(it, row);
      await it.query("SELECT max(id) FROM counters WHERE id < $1", [row]);
      await insert(it);
      await it.query("UPDATE counters SET events = events + 2 WHERE id = $1", [row]);
    },
  },
  await: {
    title: `${AWAIT_MS} ms of await, then one INSERT`,
    run: async (it) => {
      await pause(AWAIT_MS);
      await insert(it);
    },
  },
  hot: { title: "every event updates the same row", counts: true, run: updateOneOf(1) },
  hot100: { title: "every event updates one of 100 rows", counts: true, run: updateOneOf(100) },
  failing: {
    title: "5 % of the events fail at their first attempt",
    run: async (it) => {
      if (it.number % FAILING_EVERY === 0 && !failed.has(it.number)) {
        failed.add(it.number);
        throw new Error("the first attempt fails");
      }
      await insert(it);
    },
  },
  slow: {
    title: "0.2 % of the handlers take a second",
    run: async (it) => {
      if (it.number % SLOW_EVERY === 0) await pause(SLOW_MS);
      await insert(it);
    },
  },
  set: { title: "one INSERT an event, and here a set-based handler", run: insert },
  unsigned: {
    title: "one INSERT, and ids that no signature covers, as GitHub's",
    run: insert,
  },
};

/** @param {{ eventId: string, query: (text: string, values: unknown[]) => Promise<any>, db: () => any }} it */
export async function handle(it) {
  const { run } = SHAPES[process.env.BENCH_SHAPE ?? "insert"];
  await run({ ...it, number: numberOf(it.eventId) });
}

export const handleOn = (client, eventId) =>
  handle({
    eventId,
    query: (statement, values) => client.query(statement, values),
    db: () => drizzle(client),
  });
