import pg from "pg";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { anEvent, aJob, keyOf } from "../support/events.ts";
import {
  claim,
  complete,
  failure,
  handled,
  openTestLedger,
  patient,
} from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

// A statement for one event must not read all that is pending, however much that is. A connection plans it
// once: when the tables are empty, or grown and never analyzed, or analyzed. The plans are looked at, and no clock.

const PENDING = 2_000;

const it = openForAll(openTestLedger);
beforeAll(async () => {
  // As long as nothing has analyzed the table, the planner takes all of its indexes for alike.
  await it.ask("ALTER TABLE millrace.events SET (autovacuum_enabled = false)");
});
afterEach(() => vi.restoreAllMocks());

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

const PLAN_BY_KEY =
  "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan";

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The indexes that the statements of a call are planned with. */
async function indexesOfCall(call: () => Promise<unknown>): Promise<string[]> {
  return (await planOfCall(call)).flatMap((node) => node["Index Name"] ?? []);
}

/** The nodes of the plans of a call's statements. */
async function planOfCall(call: () => Promise<unknown>): Promise<Node[]> {
  const asked = vi.spyOn(pg.Client.prototype, "query");
  await call();
  const queries = asked.mock.calls.map(([query]) => query as unknown as Partial<pg.QueryConfig>);
  asked.mockRestore();
  expect(queries.map(({ text }) => text)).toContainEqual(expect.stringContaining(PLAN_BY_KEY));
  const client = await it.connect();
  const nodes: Node[] = [];
  try {
    await client.query(`BEGIN; ${PLAN_BY_KEY}`);
    for (const { text, values } of queries) {
      if (text?.includes("millrace.events") !== true) continue;
      await client.query(`PREPARE looked_at AS ${text}`);
      // The plan is one for all values.
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: Node }[] }>(
        `EXPLAIN (FORMAT JSON) EXECUTE looked_at (${values?.map(() => "NULL").join()})`,
      );
      await client.query("DEALLOCATE looked_at");
      nodes.push(...(rows[0]?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => nodesOf(Plan)));
    }
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
  return nodes;
}

async function accepted() {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  return event;
}

const CALLS: [string, () => Promise<() => Promise<unknown>>][] = [
  [
    "an attempt",
    async () => {
      const event = anEvent();
      const number = await claim(it.ledger, event);
      return () => complete(it.ledger, event, number);
    },
  ],
  [
    "a first attempt",
    async () => {
      const event = await accepted();
      const limits = { bodyDedup: false, onRecorded: () => {}, onUnsafe: () => {} };
      return () => it.ledger.claims.attemptFirst(aJob(event), handled, { ...patient(), ...limits });
    },
  ],
  [
    "a record",
    async () => {
      const event = await accepted();
      return () => it.ledger.claims.record([aJob(event)]);
    },
  ],
  [
    "a failure",
    async () => {
      const event = anEvent();
      const number = await claim(it.ledger, event);
      return () => it.ledger.claims.fail(keyOf(event), number, failure);
    },
  ],
  ["an acceptance", () => Promise.resolve(accepted)],
  [
    "a mark",
    async () => {
      const event = await accepted();
      return () => it.ledger.intake.markEnqueued([keyOf(event)]);
    },
  ],
  [
    "a lost mark",
    async () => {
      const event = await accepted();
      await it.ledger.intake.markEnqueued([keyOf(event)]);
      return () => it.ledger.repair.unmarkEnqueued([keyOf(event)]);
    },
  ],
];

describe.each<[string, () => Promise<unknown>]>([
  ["few events", () => Promise.resolve()],
  ["many that are pending", acceptMany],
  ["many, once they are analyzed", () => it.ask("ANALYZE")],
])("among %s", (_among, fill) => {
  beforeAll(fill);

  test.each(CALLS)("%s finds its event by the key", async (_what, prepare) => {
    const indexes = await indexesOfCall(await prepare());
    expect(indexes).toContain("events_pkey");
    expect(indexes).not.toContain("events_pending");
    expect(indexes).not.toContain("events_not_enqueued");
  });

  test("what was signed is looked up by the message, whoever asks", async () => {
    const { signal } = new AbortController();
    const event = anEvent({ unsigned: true });
    const first = anEvent({ unsigned: true });
    const limits = { bodyDedup: true, onRecorded: () => {}, onUnsafe: () => {} };
    const calls = [
      () => it.ledger.intake.accept([event]),
      () => it.ledger.claims.record([aJob(anEvent({ unsigned: true }))]),
      () =>
        it.ledger.claims.attemptFirst(aJob(first), handled, { ...patient(), ...limits, signal }),
    ];
    for (const call of calls) {
      const indexes = await indexesOfCall(call);
      expect(indexes).toContain("events_signed");
      expect(indexes).not.toContain("events_recorded_at");
    }
  });

  test("a group of first attempts looks up the bodies that wait for it one by one", async () => {
    const units = Array.from({ length: 32 }, () => ({
      members: [{ event: anEvent(), bodyDedup: false }],
      run: handled,
      sendsOneQuery: false,
      abort: () => {},
    }));
    const limits = { lockTimeoutMs: 30, statementTimeoutMs: 250, patienceMs: 250 };
    const { signal: stop } = new AbortController();
    const nodes = await planOfCall(() => it.ledger.claims.attemptGroup(units, { ...limits, stop }));
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
