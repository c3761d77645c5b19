// What the handlers of the worker benchmark do, the same in every contender.

import { numberOf } from "./event.mjs";

const FAILING_EVERY = 100;
const SLOW_EVERY = 500;
const SLOW_MS = 1_000;
const ROWS = 20;

const failed = new Set();

export const LOADS = {
  insert: { title: "one INSERT a handler", before: () => {}, statements: () => [] },
  set: {
    title: "one INSERT an event, and here a set-based handler",
    before: () => {},
    statements: () => [],
  },
  unsigned: {
    title: "one INSERT a handler, and ids that no signature covers, as GitHub's",
    before: () => {},
    statements: () => [],
  },
  contended: {
    title: `every handler updates one of ${ROWS} rows`,
    before: () => {},
    statements: (number) => [
      ["UPDATE counters SET events = events + 1 WHERE id = $1", [number % ROWS]],
    ],
  },
  failing: {
    title: "1 % of the events fail at their first attempt",
    before: (number) => {
      if (number % FAILING_EVERY !== 0 || failed.has(number)) return;
      failed.add(number);
      throw new Error("the first attempt fails");
    },
    statements: () => [],
  },
  slow: {
    title: "0.2 % of the handlers take a second",
    before: async (number) => {
      if (number % SLOW_EVERY === 0) await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    },
    statements: () => [],
  },
};

export async function handle(eventId, query) {
  const { before, statements } = LOADS[process.env.BENCH_LOAD ?? "insert"];
  const number = numberOf(eventId);
  await before(number);
  for (const [text, values] of statements(number)) await query(text, values);
  await query("INSERT INTO effects (event_id) VALUES ($1)", [eventId]);
}
