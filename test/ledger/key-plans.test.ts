import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { anEvent, aJob, keyOf } from "../support/events.ts";
import {
  claim,
  failure,
  openTestLedger,
  patient,
  type TestLedger,
} from "../support/ledger-fixture.ts";

// A statement for one event must not read all that is pending, however much that is, and however few
// rows the planner takes the table to have. The plans are looked at, and no clock.

const PENDING = 2_000;

let it: TestLedger;
beforeAll(async () => {
  it = await openTestLedger();
  // As long as nothing has analyzed the table, the planner takes all of its indexes for alike.
  await it.ask("ALTER TABLE millrace.events SET (autovacuum_enabled = false)");
  for (let left = PENDING; left > 0; left -= 500) {
    await it.ledger.intake.accept(Array.from({ length: 500 }, () => anEvent()));
  }
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => it?.close());

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly Node[];
}

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
  const client = await it.connect();
  const nodes: Node[] = [];
  try {
    await client.query("BEGIN; SET LOCAL enable_seqscan = off");
    for (const { text, values } of queries) {
      if (text?.includes("millrace.events") !== true) continue;
      const { rows } = await client.query<{ "QUERY PLAN": { Plan: Node }[] }>(
        `EXPLAIN (FORMAT JSON) ${text}`,
        values,
      );
      nodes.push(...(rows[0]?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => nodesOf(Plan)));
    }
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
  return nodes;
}

const handled = () => Promise.resolve("handled" as const);

async function accepted() {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  return event;
}

test.each<[string, () => Promise<() => Promise<unknown>>]>([
  [
    "an attempt",
    async () => {
      const event = anEvent();
      const number = await claim(it.ledger, event);
      return () => it.ledger.claims.attempt(keyOf(event), number, handled, patient());
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
])("%s finds its event by the key, among many that are pending", async (_what, prepare) => {
  const indexes = await indexesOfCall(await prepare());
  expect(indexes).toContain("events_pkey");
  expect(indexes).not.toContain("events_pending");
  expect(indexes).not.toContain("events_unplaced");
});

test("a group of first attempts looks up the bodies that wait for it one by one, among many", async () => {
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
