import { MillraceError, on } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { createGate, effect, leave, makeJob, prepare, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

test("every handler that hears the event runs, in order, in one transaction", async () => {
  const { process, notes } = prepare(processors, [
    on("shop", "order.created", leave("one")),
    on("shop", "order.paid", leave("never")),
    on("bank", "*", leave("never")),
    on("shop", ["*", "order.created"], leave("two")),
  ]);
  expect(await process()).toEqual({ kind: "completed", outcome: "handled" });
  expect(await notes()).toEqual(["one", "two"]);
});

test("a job of an unknown source is failed, also by a name that every object has", async () => {
  let recorded = 0;
  const processor = processors.create([], { before: { record: () => (recorded += 1) } });
  for (const source of ["nobody", "constructor", "__proto__"]) {
    expect(await processor.process(makeJob({ source }))).toMatchObject({
      kind: "failed",
      code: "unknown_source",
    });
  }
  expect(recorded).toBe(0);
});

test("a job whose body was changed is failed, and the ledger does not have it", async () => {
  const processor = processors.create([]);
  const { bodyHash } = makeJob({ body: "genuine" }).event;
  const forged = makeJob({ body: "forged", bodyHash });
  expect(await processor.process(forged)).toMatchObject({
    kind: "failed",
    code: "body_hash_mismatch",
  });
  expect(await processors.row(forged.event.eventId)).toBeUndefined();
});

test("a job without a body that the ledger does not know is failed, and people see its event", async () => {
  const { process, processor, job, row } = prepare(processors, [], {}, { body: undefined });
  expect(await process()).toMatchObject({ kind: "failed", code: "body_lost" });
  const last_error = expect.stringContaining("Postgres has lost its event");
  expect(await row()).toMatchObject({ status: "failed", last_error });
  // Another run of the job finds no body either, and must not take the event for one that is too old.
  const again = { ...job, run: "again" };
  expect(await processor.process(again)).toMatchObject({ kind: "failed", code: "body_lost" });
  expect(await row()).toMatchObject({ status: "failed", attempts: 0 });
});

test("jobs that come together are recorded in one call", async () => {
  const calls: number[] = [];
  const processor = processors.create([], {
    concurrency: 6,
    before: { record: (jobs) => calls.push(jobs.length) },
  });
  await Promise.all(Array.from({ length: 6 }, () => processor.process(makeJob())));
  expect(calls).toEqual([6]);
});

test("a database that is away is not asked once more for every job", async () => {
  let calls = 0;
  const processor = processors.create([], {
    databaseRetryMs: 0,
    before: {
      record: () => {
        calls += 1;
        throw new MillraceError("database_unavailable", "Cannot use Postgres: away");
      },
    },
  });
  await Promise.all([processor.process(makeJob()), processor.process(makeJob())]);
  expect(calls).toBe(1);
});

test("a job that Postgres refuses for a reason of its own comes again alone", async () => {
  const processor = processors.create([on("shop", "*", effect)], { concurrency: 3 });
  await processors.pool.query(`
    create function refuse_poison() returns trigger language plpgsql as
      $$ begin raise exception 'poison'; end $$;
    create trigger poison before insert on millrace.events
      for each row when (new.event_id = 'evt_poison') execute function refuse_poison()`);
  const jobs = [makeJob(), makeJob({ eventId: "evt_poison" }), makeJob()];
  const results = await Promise.all(jobs.map((job) => processor.process(job)));
  expect(results.map(({ kind }) => kind)).toEqual(["completed", "retry", "completed"]);
  expect(results[1]).toMatchObject({ code: "internal", recorded: false });
  expect(processor.notices).toContainEqual(
    expect.objectContaining({ kind: "unrecorded", step: "record" }),
  );
});

test("an attempt is not counted before there is a slot to run it in", async () => {
  const slow = createGate();
  const processor = processors.create([on("shop", "*", slow.pass)], { concurrency: 1 });
  const [first, second] = [makeJob(), makeJob()];
  const results = [processor.process(first), processor.process(second)];
  await until(() => processors.row(first.event.eventId));
  expect(processor.running).toBe(1);
  expect(await processors.row(second.event.eventId)).toBeUndefined();
  slow.open();
  await Promise.all(results);
  expect(await processors.row(second.event.eventId)).toMatchObject({ attempts: 1 });
});

test("closing breaks off what runs and what waits, undone, uncounted and handed back", async () => {
  let inside = false;
  const { process, processor, row, effects, eventId } = prepare(
    processors,
    async (event, context) => {
      await effect(event, context);
      inside = true;
      await new Promise((_resolve, reject) => {
        context.signal.addEventListener("abort", () => reject(new Error("told to stop")));
      });
    },
    { concurrency: 1 },
  );
  const results = [process(), processor.process(makeJob())];
  await until(() => inside);
  await processor.close();
  expect(await Promise.all(results)).toMatchObject([
    { kind: "retry", code: "shutting_down", recorded: true },
    { kind: "retry", code: "shutting_down", recorded: false },
  ]);
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
  expect(await effects()).toBe(0);
  const counted = "select counted from millrace.attempts where event_id = $1";
  expect(await processors.ask(counted, [eventId])).toEqual([{ counted: false }]);
});

test("draining hands back what waits for a slot, and lets what runs end", async () => {
  const slow = createGate();
  const { process, processor, row } = prepare(processors, slow.pass, { concurrency: 1 });
  const running = process();
  const waiting = processor.process(makeJob());
  await until(row);
  processor.drain();
  expect(await waiting).toMatchObject({ kind: "retry", code: "shutting_down", recorded: false });
  slow.open();
  expect(await running).toMatchObject({ kind: "completed" });
  const late = makeJob();
  expect(await processor.process(late)).toMatchObject({ code: "shutting_down" });
  expect(await processors.row(late.event.eventId)).toBeUndefined();
});

test("a job that lost its lock is broken off, undone and left to the next", async () => {
  const abort = new AbortController();
  const { process, row, effects } = prepare(
    processors,
    async (event, context) => {
      await effect(event, context);
      abort.abort(new MillraceError("lost_claim", "Cannot renew the lock of the job"));
      await new Promise(() => {});
    },
    { random: () => 1 },
    { signal: abort.signal },
  );
  expect(await process()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
  expect(await effects()).toBe(0);
});

test("a listener that throws changes nothing", async () => {
  const processor = processors.create([on("shop", "*", () => {})]);
  processor.notices.push = () => {
    throw new Error("listener");
  };
  expect(await processor.process(makeJob())).toMatchObject({ kind: "completed" });
});

test("notices hold no body and no header", async () => {
  const processor = processors.create([
    on("shop", "*", () => {
      throw new Error("no");
    }),
  ]);
  await processor.process(makeJob({ body: '{"canary":1}', headers: { "x-canary": "canary" } }));
  const kinds = processor.notices.map((notice) => notice.kind);
  expect(kinds).toEqual(["claimed", "attempt_failed", "finished"]);
  expect(JSON.stringify(processor.notices)).not.toContain("canary");
});
