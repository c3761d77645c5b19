import type { IncomingEvent } from "@millrace/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";

let it: TestLedger;
beforeEach(async () => {
  // One connection: a plan belongs to the connection that made it.
  it = await openTestLedger({ max: 1 });
});
afterEach(() => it.close());

const BATCH = 200;

test("marks cost the same however many events wait, with the plan that a connection keeps", async () => {
  const events = await acceptMany(12 * BATCH);
  for (let from = 0; from < events.length; from += BATCH) {
    await it.ledger.intake.markEnqueued(events.slice(from, from + BATCH));
  }
  expect(await planOf("millrace_mark_enqueued")).not.toMatch(/Seq Scan|events_(?!pkey)/);
  for (let from = 0; from < events.length; from += BATCH) {
    await it.ledger.repair.unmarkEnqueued(events.slice(from, from + BATCH));
  }
  expect(await planOf("millrace_unmark_enqueued")).not.toMatch(/Seq Scan|events_(?!pkey)/);
});

async function acceptMany(count: number): Promise<readonly IncomingEvent[]> {
  const events = Array.from({ length: count }, (_, index) =>
    anEvent({ source: "acme", eventId: `evt_${index}` }),
  );
  for (let from = 0; from < count; from += BATCH) {
    await it.ledger.intake.accept(events.slice(from, from + BATCH));
  }
  return events;
}

/** How Postgres runs a statement that this connection has prepared. */
async function planOf(name: string): Promise<string> {
  const { rows } = await it.pool.query<{ "QUERY PLAN": string }>(
    `EXPLAIN EXECUTE ${name} (ARRAY['acme'], ARRAY['evt_1'], ARRAY[0])`,
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}
