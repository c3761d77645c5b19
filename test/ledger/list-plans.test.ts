import { latestTypes } from "@millrace/ledger";
import pg from "pg";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { openTestLedger, pastTriggers } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

// What the dashboard's page asks for must not read the whole of a long ledger. The plans are looked
// at, and no clock.

const ROWS = 50_000;

const it = openForAll(openTestLedger);
beforeAll(async () => {
  await pastTriggers(
    it,
    `INSERT INTO millrace.events (
       recorded_at, received_at, started_at, processed_at, body_id, generation, attempts, unsigned,
       source, event_id, type, status, outcome, body_hash, last_error, last_error_code)
     SELECT at, at, at, CASE WHEN n % 1000 <> 8 THEN at END, n, 0, 1, false,
       CASE WHEN n % 10 < 7 THEN 'bank' ELSE 'shop' END, 'evt_' || md5(n::text),
       'order.' || n % 5,
       CASE n % 1000 WHEN 7 THEN 'failed' WHEN 8 THEN 'pending' ELSE 'completed' END,
       CASE WHEN n % 1000 NOT IN (7, 8) THEN 'handled' END, md5(n::text),
       CASE WHEN n % 1000 = 7 THEN 'Error' END, CASE WHEN n % 1000 = 7 THEN 'handler_failed' END
     FROM (SELECT n, now() - n * interval '1 minute' AS at FROM generate_series(1, $1::int) n) s`,
    [[ROWS]],
  );
  await it.ask("ANALYZE millrace.events");
});
afterEach(() => vi.restoreAllMocks());

/** The indexes that a call's statement over events is planned with; `Seq Scan` where it uses none. */
async function indexesOf(call: () => Promise<unknown>): Promise<string[]> {
  const asked = vi.spyOn(pg.Client.prototype, "query");
  await call();
  const statements = asked.mock.calls.map(([query, values]) => ({
    text: typeof query === "string" ? query : String((query as { text?: string }).text),
    values: values as unknown,
  }));
  asked.mockRestore();
  const found = statements.find(({ text }) => /from "?millrace"?\."?events/i.test(text));
  if (found === undefined) throw new Error("Cannot explain: nothing was asked of events");
  const values = Array.isArray(found.values) ? found.values : [];
  const [row] = await it.ask<{ "QUERY PLAN": { Plan: Node }[] }>(
    `EXPLAIN (FORMAT JSON) ${found.text}`,
    values,
  );
  return (row?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => scansOf(Plan));
}

interface Node {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Node[];
}

function scansOf(node: Node): string[] {
  const mine = node["Index Name"] ?? (node["Node Type"] === "Seq Scan" ? "Seq Scan" : undefined);
  return [...(mine === undefined ? [] : [mine]), ...(node.Plans ?? []).flatMap(scansOf)];
}

test("the types of the latest events are read from the end of an index", async () => {
  expect(await indexesOf(() => latestTypes(it.pool))).toEqual(["events_recorded_at"]);
  const types = await latestTypes(it.pool);
  expect([...types.keys()].toSorted()).toEqual(["bank", "shop"]);
  expect(types.get("shop")?.toSorted()).toEqual(["order.2", "order.3", "order.4"]);
});

test.each([
  ["the newest", {}, "events_recorded_at"],
  ["a source's", { source: "shop" }, "events_recorded_at"],
  ["a type's", { type: "order.3" }, "events_recorded_at"],
  ["what completed", { status: "completed" }, "events_recorded_at"],
  ["what failed", { status: "failed" }, "events_failed"],
  ["a source's failed", { status: "failed", source: "bank" }, "events_failed"],
  ["what is pending", { status: "pending" }, "events_pending"],
  ["ids that begin so", { q: "evt_12" }, "events_pkey"],
  ["a source's ids that begin so", { q: "evt_12", source: "bank" }, "events_pkey"],
  ["what came since", { since: new Date(Date.now() - 3_600_000) }, "events_recorded_at"],
  ["what came before", { until: new Date(Date.now() - 86_400_000) }, "events_recorded_at"],
] as const)("a page of %s is read by an index", async (_what, filter, index) => {
  const indexes = await indexesOf(() => it.ledger.reads.findEvents({ limit: 50, ...filter }));
  expect(indexes).toContain(index);
  expect(indexes).not.toContain("Seq Scan");
});

test("a page deep in the ledger is read by an index, from where the one before it ended", async () => {
  const until = new Date(Date.now() - 20 * 86_400_000);
  const { next } = await it.ledger.reads.findEvents({ limit: 50, until });
  const cursor = next ?? "";
  const indexes = await indexesOf(() => it.ledger.reads.findEvents({ limit: 50, cursor }));
  expect(indexes).toEqual(["events_recorded_at"]);
});

test("one event is read by its key", async () => {
  const { events } = await it.ledger.reads.findEvents({ limit: 1 });
  const eventId = events[0]?.event_id ?? "";
  const source = events[0]?.source ?? "";
  const indexes = await indexesOf(() => it.ledger.reads.findEvent({ source, eventId }));
  expect(indexes).toContain("events_pkey");
  expect(indexes).not.toContain("Seq Scan");
});
