import { PermanentError, type HandlerContext, type WebhookEvent } from "@millrace/core";
import { sql } from "drizzle-orm";
import { interval, pgTable } from "drizzle-orm/pg-core";
import type pg from "pg";
import { beforeAll, expect, test } from "vitest";
import { fresh, useProcessors, warmGroups } from "./processor-fixture.ts";

const processors = useProcessors();
beforeAll(async () => {
  await processors.ask("create table steps (event_id text, step int, seen int, tx xid8)");
});

type Tx = HandlerContext["tx"];
type Behavior = (event: WebhookEvent, tx: Tx) => Promise<unknown>;

const write = (event: WebhookEvent, tx: Tx, step = 1) =>
  tx.execute(sql`
    insert into steps select ${event.id}, ${step}, count(*), pg_current_xact_id() from steps
    where tx = pg_current_xact_id()`);
const pause = () => new Promise((resolve) => setTimeout(resolve, 3));

const BEHAVIORS: Record<string, { readonly run: Behavior; readonly steps: readonly number[] }> = {
  one: { run: write, steps: [1] },
  two: {
    run: async (event, tx) => {
      await write(event, tx);
      await write(event, tx, 2);
    },
    steps: [1, 2],
  },
  "two at once": {
    run: (event, tx) => Promise.all([write(event, tx), write(event, tx, 2)]),
    steps: [1, 2],
  },
  "one that is not awaited": {
    run: async (event, tx) => void Promise.resolve(write(event, tx)),
    steps: [1],
  },
  none: { run: async () => {}, steps: [] },
  "one without a statement": {
    run: async (_, tx) => (await tx.execute(sql.raw(""))).rows.length,
    steps: [],
  },
  "a wait, then one": {
    run: async (event, tx) => (await pause(), await write(event, tx)),
    steps: [1],
  },
  "one, then a wait": {
    run: async (event, tx) => (await write(event, tx), await pause()),
    steps: [1],
  },
  "a nested transaction": {
    run: (event, tx) => tx.transaction((nested) => write(event, nested)),
    steps: [1],
  },
  "a nested transaction that is undone": {
    run: async (event, tx) => {
      await write(event, tx);
      const undone = tx.transaction(async (nested) => {
        await write(event, nested, 9);
        throw new Error("undo");
      });
      await undone.catch(() => {});
      await write(event, tx, 2);
    },
    steps: [1, 2],
  },
};
const FAILING: Record<string, Behavior> = {
  "throws at once": async () => {
    throw new PermanentError("at once");
  },
  "throws after its query": async (event, tx) => {
    await write(event, tx);
    throw new PermanentError("after its query");
  },
  "throws after two": async (event, tx) => {
    await write(event, tx);
    await write(event, tx, 2);
    throw new PermanentError("after two");
  },
  "has its query refused": (_, tx) => tx.execute(sql`select 1 / 0`),
  "has its second query refused": async (event, tx) => {
    await write(event, tx);
    await tx.execute(sql`select 1 / 0`);
  },
  "catches what its query throws": (_, tx) => tx.execute(sql`select 1 / 0`).catch(() => {}),
};

async function open() {
  return await warmGroups(
    processors,
    async (event, { tx }) => {
      const name = event.headers["x-do"] ?? "one";
      await (BEHAVIORS[name]?.run ?? FAILING[name])?.(event, tx);
    },
    { leavesEffect: false, attempts: 1 },
  );
}
type Opened = Awaited<ReturnType<typeof open>>;

function onConnections(found: (client: pg.PoolClient) => void): void {
  const seen = new Set<unknown>();
  processors.pools.at(-1)?.on("acquire", (client) => {
    if (!seen.has(client)) found(client);
    seen.add(client);
  });
}

/** Counts messages with savepoints, after as many runs as a type has them for. */
async function withoutSavepoints({ together }: Opened): Promise<() => number> {
  let saved = 0;
  onConnections((client) => {
    const query = client.query.bind(client) as (given: unknown) => unknown;
    const isSaving = (given: unknown) => JSON.stringify(given).includes("SAVEPOINT millrace");
    Object.assign(client, {
      query: (given: unknown) => ((saved += +isSaving(given)), query(given)),
    });
  });
  for (let before = -1; before !== saved;) {
    before = saved;
    await together(Array.from({ length: 100 }, () => fresh()));
  }
  return () => saved;
}

let groupsSoFar = 0;
async function check({ together, groups }: Opened, names: readonly string[]): Promise<void> {
  await processors.ask("truncate steps");
  groupsSoFar += 1;
  const jobs = names.map((name, index) =>
    fresh({ eventId: `g${groupsSoFar}_${index}`, headers: { "x-do": name } }),
  );
  const before = groups().length;
  const results = await together(jobs);
  expect(
    groups()
      .slice(before)
      .some((size) => size > 1),
  ).toBe(true);
  const rows = await processors.ask<{ event_id: string; step: number; seen: number }>(
    "select * from steps order by seen",
  );
  for (const [index, job] of jobs.entries()) {
    const name = names[index] ?? "";
    const behavior = BEHAVIORS[name];
    const own = rows.filter((row) => row.event_id === job.event.eventId);
    expect([name, results[index]?.kind]).toEqual([name, behavior ? "completed" : "failed"]);
    expect([name, own.map(({ step }) => step)]).toEqual([name, behavior?.steps ?? []]);
    const [first, second] = own;
    if (first && second && name !== "a nested transaction that is undone") {
      expect([name, second.seen - first.seen]).toEqual([name, 1]);
    }
    const status = behavior ? "completed" : "failed";
    expect(await processors.row(job.event.eventId)).toMatchObject({ status });
    expect(await processors.charged(job.event.eventId)).toBe(1);
  }
}

test("the first queries of eight events take one answer of Postgres", async () => {
  const { together, groups } = await open();
  let answers = 0;
  onConnections((client) => client.connection.on("readyForQuery", () => (answers += 1)));
  // A connection prepares a savepoint when it sets it for the first time, and a busy machine
  // records some events before their group.
  let excess = Infinity;
  for (let round = 0; excess > 0 && round < 20; round += 1) {
    const [answersBefore, groupsBefore] = [answers, groups().length];
    await together(Array.from({ length: 20 }, () => fresh()));
    excess = answers - answersBefore - (3 + 6 * (groups().length - groupsBefore));
  }
  expect(excess).toBeLessThanOrEqual(0);
});

test("handlers that do not fail for long take no savepoints, until one fails behind its query", async () => {
  const opened = await open();
  const saved = await withoutSavepoints(opened);
  await check(opened, ["one", "one", "one", "throws after its query"]);
  const before = saved();
  await check(opened, ["one", "one", "one", "one"]);
  expect(saved()).toBeGreaterThan(before);
});

test("handlers that send one query begin while Postgres answers the ones before", async () => {
  let begun = 0;
  let begunMax = 0;
  const { together } = await warmGroups(
    processors,
    async (event, { tx }) => {
      begun += 1;
      begunMax = Math.max(begunMax, begun);
      await write(event, tx);
      begun -= 1;
    },
    { leavesEffect: false, concurrency: 1 },
  );
  // A busy machine makes groups small for a while.
  for (let round = 0; begunMax < 8; round += 1) {
    if (round > 100) throw new Error(`No more than ${begunMax} had begun`);
    await together(Array.from({ length: 16 }, () => fresh()));
  }
});

test.each([...Object.keys(BEHAVIORS), ...Object.keys(FAILING)])(
  "among others, a handler that does this leaves what it would leave alone: %s",
  async (name) => {
    const opened = await open();
    const others = Array.from({ length: 12 }, () => "one");
    await check(opened, others.with(4, name));
    await check(opened, others.with(0, name).with(1, name).with(11, name));
    await withoutSavepoints(opened);
    await check(opened, others.with(4, name));
  },
);

test("a table that changes under a prepared statement costs no attempt", async () => {
  await processors.ask("create table prices (sku text primary key)");
  await processors.ask("insert into prices values ('a')");
  let prepared = 0;
  const { together } = await warmGroups(
    processors,
    async (_, { tx }) => {
      await tx.execute(sql`select * from prices where sku = ${"a"}`);
      const { rows } = await tx.execute(sql`select name from pg_prepared_statements
        where statement like 'select * from prices%'`);
      prepared += rows.length;
    },
    { attempts: 1 },
  );
  const many = () => together(Array.from({ length: 40 }, () => fresh()));
  for (let round = 0; prepared === 0; round += 1) {
    if (round > 50) throw new Error("No statement was prepared");
    await many();
  }
  await processors.ask("alter table prices add column cents int");
  for (let round = 0; round < 5; round += 1) {
    expect(new Set((await many()).map(({ kind }) => kind))).toEqual(new Set(["completed"]));
  }
});

test("values have drizzle's types in a group, also those of a first query", async () => {
  await processors.ask("create table stocked (lasts interval)");
  await processors.ask("insert into stocked values ('90 minutes')");
  const stocked = pgTable("stocked", { lasts: interval() });
  const seen = new Set<unknown>();
  const { together } = await warmGroups(
    processors,
    async (_, { tx }) => {
      seen.add((await tx.select().from(stocked))[0]?.lasts);
    },
    { leavesEffect: false },
  );
  await together(Array.from({ length: 40 }, () => fresh()));
  expect([...seen]).toEqual(["01:30:00"]);
});
