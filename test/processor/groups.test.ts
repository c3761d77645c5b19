import type { EventJob, HandlerFunction, JobResult } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { createGate, fresh, useProcessors, warmGroups } from "./processor-fixture.ts";

const processors = useProcessors();

const warm = (run: HandlerFunction) => warmGroups(processors, run);
const allAre = (results: readonly JobResult[], kind: JobResult["kind"]) =>
  expect(new Set(results.map((result) => result.kind))).toEqual(new Set([kind]));

async function expectDone(jobs: readonly EventJob[]): Promise<void> {
  for (const { event } of jobs) {
    expect(await processors.row(event.eventId)).toMatchObject({ status: "completed" });
    expect(await processors.effects(event.eventId)).toBe(1);
  }
}

const marked = (header: string, ...at: readonly number[]): EventJob[] =>
  Array.from({ length: 20 }, (_, index) =>
    fresh({ headers: at.includes(index) ? { [header]: "1" } : {} }),
  );

test("events that wait at the same time share a transaction, and each is completed in it", async () => {
  const { together, groups } = await warm(() => {});
  // On a busy machine groups may be small for a while.
  const jobs = await until(async () => {
    const some = Array.from({ length: 30 }, () => fresh());
    const before = groups().length;
    allAre(await together(some), "completed");
    return Math.max(...groups().slice(before)) > 10 && some;
  });
  const ids = jobs.map(({ event }) => event.eventId);
  const rows = await processors.ask<{ xmin: string }>(
    `select xmin::text, * from millrace.events where event_id = any ($1)`,
    [ids],
  );
  expect(rows).toHaveLength(30);
  for (const row of rows) {
    expect(row).toMatchObject({ outcome: "handled", generation: 0, last_error: null });
  }
  expect(new Set(rows.map(({ xmin }) => xmin)).size).toBeLessThan(20);
  await expectDone(jobs);
});

test("as many jobs are worth fetching at once as fill the transactions, unless their bodies are large", async () => {
  const { processor, together } = await warmGroups(processors, () => {}, { leavesEffect: false });
  const round = (count: number, body = "{}") =>
    together(Array.from({ length: count }, () => fresh({ body })));
  await until(async () => {
    await round(50);
    return processor.jobsMax("shop") > 60;
  });
  expect(processor.jobsMax("bank")).toBe(8);
  await until(async () => {
    await round(20, "x".repeat(1_000_000));
    return processor.jobsMax("shop") < 40;
  });
});

test("another system that cannot be reached fails the event, and is not called twice", async () => {
  let calls = 0;
  const { together } = await warm((event) => {
    if (!event.headers["x-call"]) return;
    calls += 1;
    throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  });
  const results = await together(marked("x-call", 7));
  expect(results[7]).toMatchObject({ kind: "retry", code: "handler_failed" });
  expect(calls).toBe(1);
});

test("a handler that takes long is undone, attempted alone, and numbered but not charged", async () => {
  const seen = new Map<string, number[]>();
  const { together } = await warm(async ({ id, attempt, headers }) => {
    if (!headers["x-slow"]) return;
    seen.set(id, [...(seen.get(id) ?? []), attempt]);
    await new Promise((resolve) => setTimeout(resolve, 400));
  });
  // On a busy machine it may be attempted alone at once.
  const jobs = await until(async () => {
    const some = marked("x-slow", 4);
    allAre(await together(some), "completed");
    return seen.get(some[4]?.event.eventId ?? "")?.length === 2 && some;
  });
  const slow = jobs[4]?.event.eventId ?? "";
  expect(seen.get(slow)).toEqual([1, 2]);
  expect(await processors.effects(slow)).toBe(1);
  expect((await processors.row(slow))?.attempts).toBe(2);
  expect(await processors.charged(slow)).toBe(1);
});

test("a SET LOCAL does not reach the next event, and its type goes alone from then on", async () => {
  const settings: string[] = [];
  const { together, groups } = await warm(async (event, { tx }) => {
    const { rows } = await tx.execute<{ v: string | null }>(
      sql`select current_setting('app.tenant', true) as v`,
    );
    settings.push(rows[0]?.v ?? "");
    await tx.execute(sql`set local app.tenant = 'a'`);
  });
  const jobs = Array.from({ length: 20 }, () => fresh());
  await together(jobs);
  expect(new Set(settings)).toEqual(new Set([""]));
  const before = groups().length;
  await together(Array.from({ length: 20 }, () => fresh()));
  expect(groups()).toHaveLength(before);
  expect(new Set(settings)).toEqual(new Set([""]));
  await expectDone(jobs);
});

test("a temporary table that a function makes takes none of its group's writes", async () => {
  await processors.ask(`create function hides_a_table() returns void language plpgsql as $$
    begin execute 'create te' || 'mp table effects (event_id text, note text)'; end $$`);
  const { together } = await warm(async (event, { tx }) => {
    if (event.headers["x-hide"]) await tx.execute(sql`select hides_a_table()`);
  });
  const jobs = marked("x-hide", 3);
  allAre(await together(jobs), "completed");
  await expectDone(jobs);
});

test("the savepoints of other events, and of the group, are out of an event's reach", async () => {
  const { together } = await warm(async (event, { tx }) => {
    const { "x-set": isSetter, "x-reach": reach } = event.headers;
    if (isSetter) {
      await tx.execute(sql`savepoint own`);
      await tx.execute(sql`rollback to savepoint own`);
      await tx.execute(sql`insert into effects values (${event.id}, 'more')`);
    }
    if (reach) await tx.execute(sql.raw(reach));
  });
  const texts = ["rollback to savepoint own", "rollback to millrace_1", "release millrace_2"];
  const jobs = Array.from({ length: 20 }, (_, index) => {
    const reach = texts[(index - 5) / 5];
    return fresh({ headers: reach === undefined ? { "x-set": "1" } : { "x-reach": reach } });
  });
  const results = await together(jobs);
  for (const [index, { event }] of jobs.entries()) {
    const { "x-reach": reach } = event.headers;
    const code = reach === texts[0] ? "handler_failed" : "tx_control_refused";
    const isBad = reach !== undefined;
    expect(results[index]).toMatchObject(isBad ? { kind: "retry", code } : { kind: "completed" });
    expect(await processors.effects(event.eventId)).toBe(isBad ? 0 : 2);
  }
});

async function warmHeld() {
  const gate = createGate();
  let isHeld = false;
  const warmed = await warm(async () => {
    if (isHeld) await gate.pass();
  });
  isHeld = true;
  return { ...warmed, ...gate };
}

test("an event that another connection records meanwhile undoes the group, and nothing is doubled", async () => {
  const { together, untilWaiting, open } = await warmHeld();
  const jobs = Array.from({ length: 10 }, () => fresh());
  const running = together(jobs);
  await untilWaiting();
  // This insert takes no lock on the event's identity.
  await processors.accept(jobs[9] ?? expect.unreachable());
  open();
  allAre(await running, "completed");
  await expectDone(jobs);
});

test("an event whose group holds it is busy for everyone else, and is not recorded", async () => {
  // On a busy machine the group does not wait that long, and the event is recorded.
  await until(async () => {
    const { together, processor, untilWaiting, open } = await warmHeld();
    const jobs = Array.from({ length: 4 }, () => fresh());
    const running = together(jobs);
    await untilWaiting();
    const [first] = jobs as [EventJob];
    const result = await processor.process({ ...first, startedBefore: true });
    const row = await processors.row(first.event.eventId);
    open();
    await running;
    expect(await processors.effects(first.event.eventId)).toBe(1);
    return result.kind === "lost" && row === undefined;
  });
});

test("events that wait in the ledger complete in a group, from what the ledger has", async () => {
  const types: string[] = [];
  const { together } = await warm((event) => void types.push(event.type));
  const jobs = Array.from({ length: 10 }, () => fresh());
  await processors.accept(...jobs);
  const bare = jobs.map((job) => ({
    ...job,
    event: { ...job.event, type: "forged", body: undefined },
  }));
  allAre(await together(bare), "completed");
  expect(new Set(types)).toEqual(new Set(["order.created"]));
  await expectDone(jobs);
});

const HOOK = Symbol.for("millrace.failpoint");

test.each([
  "worker.group_admitted",
  "worker.group_ran",
  "worker.group_commit_sent",
  "worker.group_committed",
])("a group whose connection dies at %s is neither lost nor doubled", async (failpoint) => {
  const { together, processor } = await warm(() => {});
  let killed = 0;
  // The process goes on, so the jobs come again at once and not when they have stalled.
  Object.assign(globalThis, {
    [HOOK]: (name: string) => {
      if (name !== failpoint || killed > 0) return;
      killed += 1;
      const { _clients: clients } = processors.pools.at(-1) as unknown as { _clients: Ending[] };
      for (const client of clients) client.connection.stream.destroy();
    },
  });
  const jobs: EventJob[] = [];
  try {
    await until(async () => {
      const some = Array.from({ length: 20 }, () => fresh());
      jobs.push(...some);
      await together(some);
      return killed > 0;
    });
  } finally {
    Reflect.deleteProperty(globalThis, HOOK);
  }
  for (const job of jobs) {
    await until(async () => {
      const { kind } = await processor.process({ ...job, startedBefore: true });
      return kind === "completed" || kind === "duplicate";
    });
  }
  await expectDone(jobs);
});

interface Ending {
  readonly connection: { readonly stream: { destroy(): void } };
}
