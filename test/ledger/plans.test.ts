import type { IncomingEvent } from "@millrace/core";
import { latestTypes } from "@millrace/ledger";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { anEvent, aJob, keyOf } from "../support/events.ts";
import { failure, messagesOf, useLedger } from "../support/ledger-fixture.ts";
import { attemptFirst, attemptGroup } from "./attempt-fixture.ts";

const PENDING = 2_000;

const it = useLedger();
beforeAll(async () => {
  // As long as nothing has analyzed the table, the planner takes all of its indexes for alike.
  await it.ask("ALTER TABLE millrace.events SET (autovacuum_enabled = false)");
});

async function acceptMany() {
  for (let left = PENDING; left > 0; left -= 500) {
    const events = Array.from({ length: 500 }, (_, index) =>
      anEvent({ unsigned: index % 2 === 0 }),
    );
    await it.ledger.intake.accept(events);
  }
}

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly Node[];
}
type Explained = { "QUERY PLAN": { Plan: Node }[] };

const PLAN_BY_KEY = [
  "SET LOCAL enable_seqscan = off",
  "SET LOCAL plan_cache_mode = force_generic_plan",
];

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
const explained = (rows: readonly Explained[]) =>
  rows.flatMap((row) => row["QUERY PLAN"]).flatMap(({ Plan }) => nodesOf(Plan));

async function indexesOfCall(call: () => Promise<unknown>): Promise<string[]> {
  return (await planOfCall(call)).flatMap((node) => node["Index Name"] ?? []);
}

async function planOfCall(call: () => Promise<unknown>): Promise<Node[]> {
  const queries = (await messagesOf(call)).flat();
  expect(queries.map(({ text }) => text)).toEqual(expect.arrayContaining(PLAN_BY_KEY));
  const client = await it.connect();
  const nodes: Node[] = [];
  try {
    await client.query(["BEGIN", ...PLAN_BY_KEY].join("; "));
    for (const { text, values } of queries) {
      if (text.startsWith("LOCK") || !text.includes("millrace.events")) continue;
      await client.query(`PREPARE looked_at AS ${text}`);
      // The plan is one for all values.
      const { rows } = await client.query<Explained>(
        `EXPLAIN (FORMAT JSON) EXECUTE looked_at (${values.map(() => "NULL").join()})`,
      );
      await client.query("DEALLOCATE looked_at");
      nodes.push(...explained(rows));
    }
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
  return nodes;
}

const CALLS: [
  string,
  "new" | "accepted" | "claimed",
  (event: IncomingEvent) => Promise<unknown>,
][] = [
  ["an attempt", "claimed", (event) => it.complete(event, 1)],
  ["a first attempt", "accepted", (event) => attemptFirst(it.ledger, event)],
  ["a record", "accepted", (event) => it.ledger.claims.record([aJob(event)])],
  ["a failure", "claimed", (event) => it.ledger.claims.fail(keyOf(event), 1, failure)],
  ["an acceptance", "new", (event) => it.ledger.intake.accept([event])],
  ["a mark", "accepted", (event) => it.ledger.intake.markEnqueued([keyOf(event)])],
  ["a lost mark", "claimed", (event) => it.ledger.repair.unmarkEnqueued([keyOf(event)])],
];

describe.each<[string, () => Promise<unknown>]>([
  ["few events", () => Promise.resolve()],
  ["many that are pending", acceptMany],
  ["many, once they are analyzed", () => it.ask("ANALYZE")],
])("among %s", (_among, fill) => {
  beforeAll(fill);

  test.each(CALLS)("%s finds its event by the key, which is %s", async (_what, before, call) => {
    const event = anEvent();
    if (before === "accepted") await it.ledger.intake.accept([event]);
    if (before === "claimed") await it.claim(event);
    const indexes = await indexesOfCall(() => call(event));
    expect(indexes).toContain("events_pkey");
    expect(indexes).not.toContain("events_pending");
    expect(indexes).not.toContain("events_not_enqueued");
  });

  test("what was signed is looked up by the message, whoever asks", async () => {
    const unsigned = () => anEvent({ unsigned: true });
    const calls = [
      () => it.ledger.intake.accept([unsigned()]),
      () => it.ledger.claims.record([aJob(unsigned())]),
      () => attemptFirst(it.ledger, unsigned()),
    ];
    for (const call of calls) {
      const indexes = await indexesOfCall(call);
      expect(indexes).toContain("events_first");
      expect(indexes).not.toContain("events_recorded_at");
    }
  });

  test("a group of first attempts looks up the bodies that wait for it one by one", async () => {
    const events = Array.from({ length: 32 }, () => anEvent());
    const nodes = await planOfCall(() => attemptGroup(it.ledger, events));
    const reads = nodes.filter(
      (node) => node["Relation Name"]?.startsWith("bodies") && node["Node Type"] !== "ModifyTable",
    );
    expect(reads).toHaveLength(1);
    expect(reads[0]).toMatchObject({
      "Node Type": "Index Scan",
      "Index Cond": expect.stringContaining("id = ") as string,
    });
  });
});

describe("what the page lists of a long ledger", () => {
  const ROWS = 50_000;

  const long = useLedger();
  beforeAll(async () => {
    await long.pastTriggers(
      `INSERT INTO millrace.events (
       recorded_at, received_at, started_at, processed_at, body_id, generation, attempts, unsigned,
       source, event_id, type, status, outcome, body_hash, find, last_error, last_error_code)
     SELECT at, at, at, CASE WHEN n % 1000 <> 8 THEN at END, n, 0, 1, false,
       CASE WHEN n % 10 < 7 THEN 'bank' ELSE 'shop' END, 'evt_' || md5(n::text),
       'order.' || n % 5,
       CASE n % 1000 WHEN 7 THEN 'failed' WHEN 8 THEN 'pending' ELSE 'completed' END,
       CASE WHEN n % 1000 NOT IN (7, 8) THEN 'handled' END, md5(n::text),
       ARRAY['order: ' || n], CASE WHEN n % 1000 = 7 THEN 'Error' END, CASE WHEN n % 1000 = 7 THEN 'handler_failed' END
     FROM (SELECT n, now() - n * interval '1 minute' AS at FROM generate_series(1, $1::int) n) s`,
      [[ROWS]],
    );
    await long.ask("ANALYZE millrace.events");
  });

  async function planOf(call: () => Promise<unknown>): Promise<Node[]> {
    const found = (await messagesOf(call))
      .flat()
      .find(({ text }) => /from "?millrace"?\."?events/i.test(text));
    if (found === undefined) throw new Error("Cannot explain: nothing was asked of events");
    return explained(
      await long.ask<Explained>(`EXPLAIN (FORMAT JSON) ${found.text}`, found.values),
    );
  }
  async function indexesOf(call: () => Promise<unknown>): Promise<string[]> {
    return (await planOf(call)).flatMap(
      (node) => node["Index Name"] ?? (node["Node Type"] === "Seq Scan" ? "Seq Scan" : []),
    );
  }

  test("the types of the latest events are read from the end of an index", async () => {
    expect(await indexesOf(() => latestTypes(long.pool))).toEqual(["events_recorded_at"]);
    const types = await latestTypes(long.pool);
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
    ["a tenant's", { tenant: "acme", source: "bank" }, "events_pkey"],
    ["a value", { values: ["order: 40077"] }, "events_find"],
    ["what came since", { since: new Date(Date.now() - 3_600_000) }, "events_recorded_at"],
    ["what came before", { until: new Date(Date.now() - 86_400_000) }, "events_recorded_at"],
  ] as const)("a page of %s is read by an index", async (_what, filter, index) => {
    const indexes = await indexesOf(() => long.ledger.reads.findEvents({ limit: 50, ...filter }));
    expect(indexes).toContain(index);
    expect(indexes).not.toContain("Seq Scan");
  });

  test("a page deep in the ledger is read by an index, from where the one before it ended", async () => {
    const until = new Date(Date.now() - 20 * 86_400_000);
    const { next } = await long.ledger.reads.findEvents({ limit: 50, until });
    const cursor = next ?? "";
    const indexes = await indexesOf(() => long.ledger.reads.findEvents({ limit: 50, cursor }));
    expect(indexes).toEqual(["events_recorded_at"]);
  });

  test("a page of a filter without an index reads on until it finds, or says how far it got", async () => {
    const oldest = (await long.ledger.reads.findEvents({ order: "asc", limit: 1 })).events[0];
    const part = { words: [oldest?.event_id.slice(5) ?? ""], limit: 50 };
    const { events, next, searched_to } = await long.ledger.reads.findEvents(part);
    expect([events.length, next, searched_to]).toEqual([1, null, null]);
    expect(await long.ledger.reads.countEvents(part, 10)).toEqual({ groups: [], isPartial: true });
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 2_000));
    const first = await long.ledger.reads.findEvents(part).finally(() => clock.mockRestore());
    expect([first.events, typeof first.next]).toEqual([[], "string"]);
    expect((Date.now() - Date.parse(first.searched_to ?? "")) / 60_000).toBeCloseTo(20_000, -1);
  });

  test("the failed share reads what ended lately, and no more", async () => {
    const nodes = await planOf(() => long.ledger.reads.findFailedShares());
    // Within a join its index would be read from its end to its beginning.
    const parents = nodes.filter(({ Plans = [] }) =>
      Plans.some((node) => node["Index Name"] === "events_processed_at"),
    );
    expect(parents.map((node) => node["Node Type"])).toEqual(["Limit"]);
  });

  test("one event is read by its key", async () => {
    const { events } = await long.ledger.reads.findEvents({ limit: 1 });
    const eventId = events[0]?.event_id ?? "";
    const source = events[0]?.source ?? "";
    const indexes = await indexesOf(() => long.ledger.reads.findEvent({ source, eventId }));
    expect(indexes).toContain("events_pkey");
    expect(indexes).not.toContain("Seq Scan");
  });
});
