import type { BulkRun, BulkVerb } from "@millrace/api-contract";
import type { EventKey } from "@millrace/core";
import type { OpenBulkRun } from "@millrace/ledger";
import type pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { giveUpMany } from "../../packages/ledger/src/people/give-up.ts";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = openForEach(openTestLedger);
let held: pg.PoolClient;
beforeEach(async () => {
  held = await it.connect();
});
afterEach(() => held.release(true));

type EventKeys = readonly [EventKey, ...EventKey[]];

const REASON = { code: "gave_up", message: "no luck", run: "1" } as const;
const batch = { size: 10, isConfigured: () => true };

async function accept(count: number): Promise<EventKeys> {
  const events = Array.from({ length: count }, () => anEvent());
  await it.ledger.intake.accept(events);
  const [first, ...others] = events.map(keyOf);
  if (first === undefined) throw new Error("Cannot give no event");
  return [first, ...others];
}

async function failed(count: number): Promise<EventKeys> {
  const keys = await accept(count);
  for (const key of keys) await it.ledger.claims.abandonEvent(key, REASON);
  return keys;
}

async function start(verb: BulkVerb): Promise<{ run: BulkRun; open: OpenBulkRun }> {
  const actor = { user: "ops", role: "operator", via: "cli" } as const;
  const how = { verb, filter: {}, rate: 50, total: undefined, actor, auditId: "1" };
  const run = await it.ledger.bulkRuns.start(how);
  const open = (await it.ledger.bulkWork.open()).find(({ id }) => id === run.id);
  if (open === undefined) throw new Error(`Cannot find the open run ${run.id}`);
  return { run, open };
}

const workBatch = (open: OpenBulkRun) => it.ledger.bulkWork.workBatch(open, batch);
const get = ({ id }: BulkRun) => it.ledger.bulkRuns.get(id);

const LOCK_EVENT = `
SELECT FROM millrace.events WHERE source = $1 AND event_id = $2 AND generation = $3 FOR UPDATE`;
const valuesOf = ({ source, eventId, generation }: EventKey) => [source, eventId, generation];

const waiting = (count: number) => it.untilBlocked(count);

const rowsOf = () =>
  it.ask<{ event_id: string; generation: number; status: string; code: string | null }>(
    `SELECT event_id, generation, status, last_error_code AS code FROM millrace.events
     ORDER BY event_id, generation`,
  );
const members = () =>
  it.ask<{ skipped: string | null }>("SELECT skipped FROM millrace.bulk_members ORDER BY event_id");

test.each(["stopped", "paused"] as const)(
  "a batch that loses to a person who has the run %s does nothing",
  async (state) => {
    await failed(3);
    const { run, open } = await start("retry");
    const endedAt = state === "stopped" ? "clock_timestamp()" : "NULL";
    await held.query("BEGIN");
    await held.query(
      `UPDATE millrace.bulk_runs SET state = $2, finished_at = ${endedAt} WHERE id = $1`,
      [run.id, state],
    );
    const losing = workBatch(open);
    await waiting(1);
    await held.query("COMMIT");
    expect(await losing).toEqual({ kind: "superseded" });
    expect(await get(run)).toMatchObject({ state, listed: 0, done: 0, taken_at: null });
    expect((await rowsOf()).map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    expect(await members()).toEqual([]);
  },
);

test("a stop that loses to the run's last batch is answered run_ended, and what is done stays done", async () => {
  const [first] = await failed(3);
  const { run, open } = await start("retry");
  await held.query("BEGIN");
  await held.query(LOCK_EVENT, valuesOf(first));
  const last = workBatch(open);
  await waiting(1);
  const losing = it.ledger.bulkRuns.change(run.id, { state: "stopped" }).catch((error) => error);
  await waiting(2);
  await held.query("COMMIT");
  expect(await last).toMatchObject({ kind: "done", ended: true });
  expect(await losing).toMatchObject({ code: "run_ended" });
  expect(await get(run)).toMatchObject({ state: "finished", done: 3 });
});

test("a worker that loses a batch to another one does nothing: a replay makes one generation", async () => {
  const keys = await failed(4);
  const { run, open } = await start("replay");
  await held.query("BEGIN");
  await held.query("LOCK TABLE millrace.bodies IN ACCESS EXCLUSIVE MODE");
  const winning = workBatch(open);
  await waiting(1);
  const losing = workBatch(open);
  await waiting(2);
  await held.query("COMMIT");
  expect(await winning).toMatchObject({ kind: "done", ended: true });
  expect(await losing).toEqual({ kind: "superseded" });
  expect(await get(run)).toMatchObject({ listed: 4, done: 4, skipped: {} });
  const made = (await rowsOf()).filter(({ generation }) => generation > 0);
  expect(made).toHaveLength(keys.length);
  expect(new Set(made.map(({ generation }) => generation))).toEqual(new Set([1]));
});

test("a run that loses an event to a person's retry leaves it alone, and counts it", async () => {
  const [first] = await failed(1);
  const { run, open } = await start("retry");
  await held.query("BEGIN");
  await held.query(
    `UPDATE millrace.events SET status = 'pending', processed_at = NULL, pending_since = now()
     WHERE source = $1 AND event_id = $2 AND generation = $3`,
    valuesOf(first),
  );
  const losing = workBatch(open);
  await waiting(1);
  await held.query("COMMIT");
  expect(await losing).toMatchObject({ kind: "done", events: [] });
  expect(await get(run)).toMatchObject({ listed: 1, done: 0, skipped: { not_failed: 1 } });
  expect(await members()).toEqual([{ skipped: "not_failed" }]);
});

test("of two runs over the same events, the later loses each event, and no event is in both", async () => {
  await failed(3);
  const one = await start("retry");
  const other = await start("retry");
  expect(await workBatch(one.open)).toMatchObject({ kind: "done", ended: true });
  expect(await workBatch(other.open)).toMatchObject({ kind: "done", ended: true, events: [] });
  expect(await get(one.run)).toMatchObject({ done: 3 });
  expect(await get(other.run)).toMatchObject({ listed: 0, done: 0, state: "finished" });
});

test("a give-up that meets a transaction which ends at once is done all the same", async () => {
  const [key] = await accept(1);
  await held.query("BEGIN");
  await held.query(LOCK_EVENT, valuesOf(key));
  const send = async <Row extends pg.QueryResultRow>(query: pg.QueryConfig) => {
    const answer = await it.pool.query<Row>(query);
    await held.query("COMMIT");
    return answer;
  };
  expect(await giveUpMany({ send }, [key])).toEqual(["given_up"]);
});

test("a claim that loses to a give-up runs nothing, and the event stays failed", async () => {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  await held.query("BEGIN");
  await held.query(
    `UPDATE millrace.events SET status = 'failed', processed_at = clock_timestamp(),
       last_error_code = 'given_up', last_error = 'Given up by a person', enqueued_at = now()
     WHERE source = $1 AND event_id = $2 AND generation = $3`,
    valuesOf(event),
  );
  const record = () => it.ledger.claims.record([aJob(event)]);
  expect(await record()).toMatchObject([{ kind: "busy" }]);
  await held.query("COMMIT");
  expect(await record()).toMatchObject([{ kind: "failed" }]);
  expect(await rowsOf()).toMatchObject([{ status: "failed", code: "given_up" }]);
});
