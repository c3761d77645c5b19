import { on, PermanentError } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { createGate, effect, makeJob, thenThrow, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

test("a connection that dies while the handler awaits something else uses up no attempt", async () => {
  let deaths = 0;
  const processor = processors.create(
    [
      on("shop", "*", async (event, context) => {
        await effect(event, context);
        if (deaths > 0) return;
        deaths += 1;
        const { rows } = (await context.tx.execute(sql`select pg_backend_pid() as pid`)) as {
          rows: { pid: number }[];
        };
        await processors.pool.query("select pg_terminate_backend($1)", [rows[0]?.pid]);
        await until(async () => {
          const alive = "select from pg_stat_activity where pid = $1";
          return (await processors.pool.query(alive, [rows[0]?.pid])).rowCount === 0;
        });
        await effect(event, context);
      }),
    ],
    { attempts: 1 },
  );
  const { eventId } = makeJob().event;
  expect(await processor.process(makeJob({ eventId, run: "1" }))).toMatchObject({
    kind: "retry",
    code: "database_unavailable",
    recorded: true,
  });
  expect(await processors.effects(eventId)).toBe(0);
  expect(await processor.process(makeJob({ eventId, run: "2", body: undefined }))).toMatchObject({
    kind: "completed",
  });
  expect(await processors.effects(eventId)).toBe(1);
});

test.each([
  {
    end: "failed",
    run: thenThrow(new Error("not yet")),
    kind: "retry",
    status: "pending",
    left: 0,
  },
  { end: "completed", run: effect, kind: "completed", status: "completed", left: 1 },
])(
  "a stale worker whose event another has $end meanwhile runs nothing, and records nothing",
  async ({ run, kind, status, left }) => {
    const gate = createGate();
    let staleRuns = 0;
    const stale = processors.create([on("shop", "*", () => void (staleRuns += 1))], {
      before: { attempt: gate.pass },
    });
    const { eventId } = makeJob().event;
    const first = stale.process(makeJob({ eventId }));
    await gate.untilWaiting();
    const other = processors.create([on("shop", "*", run)]);
    expect(await other.process(makeJob({ eventId }))).toMatchObject({ kind });
    gate.open();
    expect(await first).toMatchObject({ kind: "lost" });
    expect(staleRuns).toBe(0);
    expect(await processors.row(eventId)).toMatchObject({ status, attempts: 2 });
    expect(await processors.effects(eventId)).toBe(left);
  },
);

test("a job that was handed back while another worker failed its event for good ends failed", async () => {
  const gate = createGate();
  let runs = 0;
  const failing = on("shop", "*", async () => {
    runs += 1;
    await gate.pass();
    throw new PermanentError("no such customer");
  });
  const { eventId } = makeJob().event;
  const first = processors.create([failing]).process(makeJob({ eventId, run: "run-1" }));
  await gate.untilWaiting();
  const other = processors.create([failing]);
  const handedBack = await other.process(makeJob({ eventId, run: "run-1" }));
  expect(handedBack).toMatchObject({ kind: "lost" });
  gate.open();
  expect(await first).toMatchObject({ kind: "failed" });
  expect(await other.process(makeJob({ eventId, run: "run-1" }))).toMatchObject({
    kind: "failed",
    code: "permanent_error",
  });
  expect(runs).toBe(1);
});

test("a hundred jobs of one event over three workers have one effect", async () => {
  const { eventId } = makeJob().event;
  const three = [1, 2, 3].map(() => processors.create([on("shop", "*", effect)]));
  const settlements = await Promise.all(
    three.flatMap((processor) =>
      Array.from({ length: 33 }, (_, index) =>
        processor.process(makeJob({ eventId, run: `run-${index}` })),
      ),
    ),
  );
  expect(settlements.filter(({ kind }) => kind === "completed").length).toBeLessThanOrEqual(1);
  expect(settlements.every(({ kind }) => ["completed", "duplicate", "lost"].includes(kind))).toBe(
    true,
  );
  expect(await processors.effects(eventId)).toBe(1);
});
