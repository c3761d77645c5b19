import { hash } from "node:crypto";
import { on } from "@millrace/core";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  effect,
  makeJob,
  openTestProcessors,
  type TestProcessors,
} from "../../processor/processor-fixture.ts";
import { age } from "../../support/aged-events.ts";
import { anEvent } from "../../support/events.ts";
import { until } from "../../support/until.ts";
import { signal } from "./page-shop.ts";

// What guides to idempotent webhooks show, as they show it, where it goes wrong; and Millrace in the same
// circumstances. The last section of docs/idempotency.md names each of them.

let db: TestProcessors;
beforeAll(async () => {
  db = await openTestProcessors();
  await db.ask("create table processed (event_id text primary key)");
});
afterAll(() => db?.close());
beforeEach(() => db.ask("truncate processed, effects"));

type Queryable = Pick<pg.PoolClient, "query">;

async function isProcessed(client: Queryable, id: string, lock = ""): Promise<boolean> {
  const text = `select from processed where event_id = $1 ${lock}`;
  return (await client.query(text, [id])).rowCount === 1;
}

const mark = (client: Queryable, id: string) =>
  client.query("insert into processed values ($1)", [id]);
const work = (client: Queryable, id: string) =>
  client.query("insert into effects values ($1, 'effect')", [id]);

/** A process that dies at this point, once. */
function dyingOnce(): () => void {
  let dies = true;
  return () => {
    if (!dies) return;
    dies = false;
    throw new Error("The process dies");
  };
}

/** The effects of an event whose handler dies after its work, once, and that is run until it is settled. */
async function effectsOfDying(): Promise<number> {
  const die = dyingOnce();
  const processor = db.create([
    on("shop", "*", async (event, context) => {
      await effect(event, context);
      die();
    }),
  ]);
  const job = makeJob();
  expect(await processor.process({ ...job, run: "run-1" })).toMatchObject({ kind: "retry" });
  expect(await db.effects(job.event.eventId)).toBe(0);
  expect(await processor.process({ ...job, run: "run-2" })).toMatchObject({ kind: "completed" });
  return await db.effects(job.event.eventId);
}

test("check, work, then mark, without a transaction: a crash before the mark repeats the work", async () => {
  const die = dyingOnce();
  const handle = async (id: string) => {
    if (await isProcessed(db.pool, id)) return;
    await work(db.pool, id);
    die();
    await mark(db.pool, id);
  };
  await expect(handle("e1")).rejects.toThrow("dies");
  await handle("e1");
  expect(await db.effects("e1")).toBe(2);

  expect(await effectsOfDying()).toBe(1);
});

test("mark first, then work: a crash in between loses the event", async () => {
  const die = dyingOnce();
  const handle = async (id: string) => {
    const marked = await db.pool.query(
      "insert into processed values ($1) on conflict (event_id) do nothing returning event_id",
      [id],
    );
    if (marked.rowCount === 0) return;
    die();
    await work(db.pool, id);
  };
  await expect(handle("e1")).rejects.toThrow("dies");
  await handle("e1");
  expect(await db.effects("e1")).toBe(0);

  expect(await effectsOfDying()).toBe(1);
});

test("marked whatever the work did: an event whose work failed is never done", async () => {
  const die = dyingOnce();
  const handle = async (id: string) => {
    if (await isProcessed(db.pool, id)) return;
    try {
      die();
      await work(db.pool, id);
    } catch {
      // and answers 200
    } finally {
      await mark(db.pool, id);
    }
  };
  await handle("e1");
  await handle("e1");
  expect(await db.effects("e1")).toBe(0);

  expect(await effectsOfDying()).toBe(1);
});

test("a set in memory forgets with its process", async () => {
  const startProcess = () => {
    const processed = new Set<string>();
    return async (id: string) => {
      if (processed.has(id)) return "skip";
      await work(db.pool, id);
      processed.add(id);
      return "process";
    };
  };
  const handle = startProcess();
  const ids = ["e1", "e2", "e1", "e3"];
  const results: string[] = [];
  for (const id of ids) results.push(await handle(id));
  expect(results).toEqual(["process", "process", "skip", "process"]);
  expect(await startProcess()("e1")).toBe("process");
  expect(await db.effects("e1")).toBe(2);

  const jobs = new Map(ids.map((id) => [id, makeJob()]));
  const kinds: string[] = [];
  for (const [index, id] of [...ids, "e1"].entries()) {
    const job = jobs.get(id) ?? makeJob();
    const worker = db.create([on("shop", "*", effect)]);
    kinds.push((await worker.process({ ...job, run: `run-${index}` })).kind);
  }
  expect(kinds).toEqual(["completed", "completed", "duplicate", "completed", "duplicate"]);
});

/** Checks under a lock, calls another system, and marks, in one transaction. */
async function inTransaction(id: string, lock: string, call: () => Promise<void>): Promise<void> {
  const client = await db.connect();
  try {
    await client.query("begin");
    if (!(await isProcessed(client, id, lock))) {
      await call();
      await mark(client, id);
    }
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

test("FOR UPDATE locks no row that is not there: two at once both do the work", async () => {
  let calls = 0;
  const bothCalled = signal();
  const call = async () => {
    calls += 1;
    if (calls === 2) bothCalled.resolve();
    await bothCalled.reached;
  };
  const results = await Promise.allSettled(
    [1, 2].map(() => inTransaction("e1", "for update", call)),
  );
  expect(calls).toBe(2);
  // The loser finds out when everything is done.
  expect(results.filter(({ status }) => status === "rejected")).toMatchObject([
    { reason: { code: "23505" } },
  ]);

  calls = 0;
  const goOn = signal();
  const calling = on("shop", "*", async () => {
    calls += 1;
    await goOn.reached;
  });
  const job = makeJob();
  const first = db.create([calling]).process(job);
  await until(() => calls === 1);
  expect(await db.create([calling]).process(job)).toMatchObject({ kind: "lost" });
  goOn.resolve();
  expect(await first).toMatchObject({ kind: "completed" });
  expect(calls).toBe(1);
});

test("SKIP LOCKED takes a processed event for a new one while somebody has its row locked", async () => {
  let calls = 0;
  const call = async () => void (calls += 1);
  const worker = db.create([on("shop", "*", call)]);
  const job = makeJob();
  await inTransaction("e1", "for update skip locked", call);
  await worker.process(job);
  expect(calls).toBe(2);

  const other = await db.connect();
  try {
    const { eventId } = job.event;
    await other.query("begin");
    await other.query("select from processed for update");
    await other.query("select from millrace.events where event_id = $1 for update", [eventId]);
    const again = inTransaction("e1", "for update skip locked", call);
    await expect(again).rejects.toThrow("duplicate key");
    expect(calls).toBe(3);
    // Somebody has the row, and may be completing it: the job is handed back.
    expect(await worker.process({ ...job, run: "run-2" })).toMatchObject({ kind: "lost" });
  } finally {
    await other.query("rollback");
    other.release();
  }
  expect(await worker.process({ ...job, run: "run-3" })).toEqual({ kind: "duplicate" });
  expect(calls).toBe(3);
});

test("a call inside the transaction is made again by the attempt after it; a step is not", async () => {
  let calls = 0;
  const call = async () => void (calls += 1);
  const die = dyingOnce();
  const inside = on("shop", "*", async (event, context) => {
    await call();
    await effect(event, context);
    die();
  });
  const dieToo = dyingOnce();
  const before = on("shop", "*", {
    call: (_event, { once }) => once("email", call),
    write: async (event, context) => {
      await effect(event, context);
      dieToo();
    },
  });
  for (const [handler, expected] of [
    [inside, 2],
    [before, 1],
  ] as const) {
    calls = 0;
    const job = makeJob();
    const worker = db.create([handler]);
    expect(await worker.process({ ...job, run: "run-1" })).toMatchObject({ kind: "retry" });
    expect(await worker.process({ ...job, run: "run-2" })).toMatchObject({ kind: "completed" });
    expect([calls, await db.effects(job.event.eventId)]).toEqual([expected, 1]);
  }
});

test("a unique violation that is caught inside the transaction undoes what was done in it", async () => {
  await mark(db.pool, "e1");
  const client = await db.connect();
  await client.query("begin");
  await work(client, "e1");
  await mark(client, "e1").catch(() => {}); // and goes on
  const { command } = await client.query("commit");
  client.release();
  expect([command, await db.effects("e1")]).toEqual(["ROLLBACK", 0]);

  const job = makeJob();
  const catching = on("shop", "*", async (event, context) => {
    await effect(event, context);
    await context.tx.execute("insert into processed values ('e1')").catch(() => {});
  });
  expect(await db.create([catching]).process(job)).toMatchObject({ kind: "retry" });
  expect(await db.row(job.event.eventId)).toMatchObject({ status: "pending" });
  const inSavepoint = on("shop", "*", async (event, context) => {
    await effect(event, context);
    await context.tx
      .transaction((inner) => inner.execute("insert into processed values ('e1')"))
      .catch(() => {});
  });
  const again = { ...job, run: "run-2" };
  expect(await db.create([inSavepoint]).process(again)).toMatchObject({ kind: "completed" });
  expect(await db.effects(job.event.eventId)).toBe(1);
});

test("a hash of the body, or a time, takes two events for one", async () => {
  const body = JSON.stringify({ type: "view", at: "2026-01-01T00:00:00Z" });
  for (const key of [hash("sha256", body), (JSON.parse(body) as { at: string }).at]) {
    const views = [body, body].map(async () => {
      const marked = await db.pool.query(
        "insert into processed values ($1) on conflict do nothing returning event_id",
        [key],
      );
      if (marked.rowCount === 1) await work(db.pool, key);
    });
    await Promise.all(views);
    expect(await db.effects(key)).toBe(1);
  }

  const worker = db.create([on("shop", "*", effect)]);
  const jobs = [makeJob({ body }), makeJob({ body })];
  const results = await Promise.all(jobs.map((job) => worker.process(job)));
  expect(results.map(({ kind }) => kind)).toEqual(["completed", "completed"]);
});

test("a table that is partitioned by time takes one id twice", async () => {
  await db.ask(`create table partitioned (event_id text, day date, primary key (event_id, day))
    partition by range (day)`);
  await db.ask(
    `create table january partition of partitioned for values from ('2026-01-01') to ('2026-02-01')`,
  );
  await expect(db.ask("alter table partitioned add unique (event_id)")).rejects.toMatchObject({
    code: "0A000",
  });
  const insert = (day: string) =>
    db.ask(
      "insert into partitioned values ('e1', $1) on conflict do nothing returning 1 as taken",
      [day],
    );
  expect([await insert("2026-01-30"), await insert("2026-01-31")].flat()).toHaveLength(2);

  // Its body is in the partition of another day; its id is not.
  const event = anEvent();
  expect(await db.ledger.intake.accept([event])).toEqual(["accepted"]);
  await age(db.pool, 40, event.eventId);
  expect(await db.ledger.intake.accept([event])).toEqual(["duplicate"]);
});
