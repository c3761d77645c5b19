import {
  MillraceError,
  on,
  PermanentError,
  RetryLater,
  type HandlerFunction,
} from "@millrace/core";
import { expect, test } from "vitest";
import { makeJob } from "./testing/make-job.ts";
import { write } from "./testing/memory-ledger.ts";
import { DatabaseTrouble, processorOnMemory } from "./testing/processor-on-memory.ts";

/** Runs one job again and again, each time as the queue would after it was told. */
function runs(handler: HandlerFunction, options: Parameters<typeof processorOnMemory>[1] = {}) {
  const { processor, ledger, notices } = processorOnMemory([on("shop", "*", handler)], options);
  const job = makeJob();
  let run = 0;
  const next = async (name = `run-${(run += 1)}`) =>
    (await Promise.all(processor.process([{ ...job, run: name }])))[0];
  return { next, ledger, notices, row: () => ledger.row(job.event), job, processor };
}

function throwing(error: unknown): HandlerFunction {
  return (_event, { tx }) => {
    write(tx, "undone");
    // Anything can be thrown, and handlers do.
    // oxlint-disable-next-line typescript/only-throw-error
    throw error;
  };
}

test("a failing handler is undone, recorded and tried again, until its last attempt fails it", async () => {
  const { next, row } = runs(throwing(new TypeError("broken")));
  expect(await next()).toEqual({
    kind: "retry",
    afterMs: 2_000,
    code: "handler_failed",
    message: "TypeError: broken",
    recorded: true,
  });
  expect(row()).toMatchObject({ status: "pending", attempts: 1, writes: [] });
  expect(await next()).toMatchObject({ kind: "retry", afterMs: 6_000 });
  expect(await next()).toEqual({
    kind: "failed",
    code: "handler_failed",
    message: "TypeError: broken",
    recorded: true,
  });
  expect(row()).toMatchObject({ status: "failed", attempts: 3, writes: [] });
});

test("a failed event whose queue was never told fails again, and no handler runs", async () => {
  const { next, row } = runs(throwing(new PermanentError("no")));
  await next("run-1");
  expect(await next("run-1")).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect(row()?.attempts).toBe(1);
});

test("a failed event that someone retried gets all its attempts again", async () => {
  const { next, row } = runs(throwing(new Error("no")), { policy: { attempts: 1 } });
  expect(await next()).toMatchObject({ kind: "failed" });
  expect(await next()).toMatchObject({ kind: "failed", code: "handler_failed" });
  expect(row()).toMatchObject({ status: "failed", attempts: 2 });
});

test("attempts that died with their workers use the policy up", async () => {
  const { next, row } = runs(throwing(new Error("no")), { policy: { attempts: 2 } });
  await next();
  const known = row();
  if (known === undefined) throw new Error("Cannot see the row");
  known.sinceRetry = 2;
  expect(await next()).toMatchObject({ kind: "failed", code: "attempts_exhausted" });
  expect(row()?.lastFailure).toMatchObject({ code: "attempts_exhausted", final: true });
});

test("PermanentError fails the event at once, also from another copy of the module", async () => {
  expect(await runs(throwing(new PermanentError("no such user"))).next()).toMatchObject({
    kind: "failed",
    code: "permanent_error",
    message: "PermanentError: no such user",
  });
  const foreign = Object.assign(new Error("foreign"), {
    [Symbol.for("millrace.permanent-error")]: true,
  });
  expect(await runs(throwing(foreign)).next()).toMatchObject({
    kind: "failed",
    code: "permanent_error",
  });
});

test("RetryLater sets the delay, and is an attempt like any other", async () => {
  const { next } = runs(throwing(new RetryLater({ afterMs: 77 })), { policy: { attempts: 2 } });
  expect(await next()).toMatchObject({ kind: "retry", afterMs: 77 });
  expect(await next()).toMatchObject({ kind: "failed", code: "handler_failed" });
});

test.each([
  [Number.NaN, 0],
  ["soon", 0],
  [-5, 0],
  [Infinity, 30 * 86_400_000],
  [1.5, 2],
])("a delay of %s from another copy of the module becomes %s", async (given, afterMs) => {
  const foreign = { [Symbol.for("millrace.retry-later")]: true, afterMs: given };
  expect(await runs(throwing(foreign)).next()).toMatchObject({ kind: "retry", afterMs });
});

test.each([[null], ["text"], [undefined], [5n], [Object.create(null)]])(
  "a handler may throw %o",
  async (thrown) => {
    expect(await runs(throwing(thrown)).next()).toMatchObject({
      kind: "retry",
      code: "handler_failed",
    });
  },
);

test("a thrown Proxy that refuses every question is a failed attempt", async () => {
  const trap = () => {
    throw new Error("no");
  };
  const hostile = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap });
  expect(await runs(throwing(hostile)).next()).toMatchObject({
    kind: "retry",
    code: "handler_failed",
    recorded: true,
  });
});

test("a handler's own MillraceError does not choose the code, except for its misuse of tx", async () => {
  const shutdown = new MillraceError("shutting_down", "x");
  expect(await runs(throwing(shutdown)).next()).toMatchObject({ code: "handler_failed" });
  const closed = new MillraceError("tx_closed", "x");
  expect(await runs(throwing(closed)).next()).toMatchObject({ code: "tx_closed" });
});

test("a handler past its time is told, undone, and fails its attempt; its slot is free", async () => {
  let told: unknown;
  const { next, row, notices, processor } = runs(
    (_event, { tx, signal }) => {
      write(tx, "late");
      signal.addEventListener("abort", () => (told = signal.reason));
      return new Promise(() => {});
    },
    { handlerTimeoutMs: 50 },
  );
  expect(await next()).toMatchObject({ kind: "retry", code: "handler_timeout" });
  expect(told).toMatchObject({ code: "handler_timeout" });
  expect(row()).toMatchObject({ status: "pending", writes: [] });
  expect(processor.running).toBe(0);
  while (!notices.some(({ kind }) => kind === "handler_ignored_abort"))
    await new Promise(setImmediate);
});

test("a handler that heeds its signal is timed out by that name, whatever it throws", async () => {
  const { next, notices } = runs(
    (_event, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new PermanentError("stopped")));
      }),
    { handlerTimeoutMs: 50 },
  );
  expect(await next()).toMatchObject({ kind: "retry", code: "handler_timeout" });
  expect(notices.some(({ kind }) => kind === "handler_ignored_abort")).toBe(false);
});

test("a database that fails the attempt uses up no attempts, and is left alone for longer each time", async () => {
  const { next, row } = runs(throwing(new DatabaseTrouble("57P01")), { policy: { attempts: 1 } });
  const delays = [];
  for (let run = 0; run < 4; run += 1) {
    const settlement = await next();
    expect(settlement).toMatchObject({
      kind: "retry",
      code: "database_unavailable",
      recorded: true,
    });
    delays.push(settlement?.kind === "retry" ? settlement.afterMs : 0);
  }
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(row()).toMatchObject({ status: "pending", attempts: 4, sinceRetry: 0 });
});

test("a handler whose every attempt fails by the database's fault ends failed after fifty that are forgiven", async () => {
  const { next, row } = runs(throwing(new DatabaseTrouble("40P01")), { policy: { attempts: 3 } });
  let end = await next();
  for (let run = 0; run < 200 && end?.kind === "retry"; run += 1) end = await next();
  expect(end).toMatchObject({ kind: "failed", code: "database_unavailable", recorded: true });
  expect(row()).toMatchObject({ status: "failed", attempts: 53 });
});

test("a last failure that could not be recorded is left alone for a while before it is tried again", async () => {
  const { next, ledger } = runs(throwing(new Error("no")), { policy: { attempts: 1 } });
  ledger.faults.fail = () => {
    throw new Error("permission denied for table attempts");
  };
  for (const code of ["handler_failed", "attempts_exhausted"]) {
    const settlement = await next();
    expect(settlement).toMatchObject({ kind: "retry", code, recorded: false });
    expect(settlement?.kind === "retry" && settlement.afterMs).toBeGreaterThanOrEqual(1_000);
  }
});

test("a failure is recorded when Postgres comes back in time", async () => {
  const { next, ledger, row } = runs(throwing(new PermanentError("no")), { patienceMs: 5_000 });
  let away = 2;
  ledger.faults.fail = () => {
    if ((away -= 1) >= 0) throw new DatabaseTrouble("away");
  };
  expect(await next()).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect(row()?.status).toBe("failed");
});

test("a failure that could not be recorded is never told as final", async () => {
  const { next, ledger, row } = runs(throwing(new PermanentError("no")));
  ledger.faults.fail = () => {
    throw new DatabaseTrouble("away");
  };
  expect(await next()).toMatchObject({ kind: "retry", code: "permanent_error", recorded: false });
  expect(row()?.status).toBe("pending");
});

test("a job that cannot be recorded comes again, and no attempt is counted", async () => {
  const { next, ledger, row } = runs(() => {});
  ledger.faults.record = () => {
    throw new DatabaseTrouble("away");
  };
  expect(await next()).toMatchObject({
    kind: "retry",
    code: "database_unavailable",
    recorded: false,
  });
  expect(row()).toBeUndefined();
  ledger.faults.record = () => {
    throw new Error("surprise");
  };
  expect(await next()).toMatchObject({
    kind: "retry",
    code: "internal",
    message: "Error: surprise",
  });
});

test("a commit that failed is a failed attempt, not a completed event", async () => {
  const { next, ledger, row } = runs((_event, { tx }) => write(tx, "undone"));
  ledger.faults.commit = () => {
    throw new Error("23503 at commit");
  };
  expect(await next()).toMatchObject({ kind: "retry", code: "handler_failed" });
  expect(row()).toMatchObject({ status: "pending", writes: [] });
});

test("a stale worker whose claim was superseded writes nothing", async () => {
  let row: ReturnType<typeof taken.row>;
  const taken = runs(() => {});
  taken.ledger.faults.attempt = () => {
    row = taken.row();
    if (row !== undefined) row.attempts += 1;
  };
  expect(await taken.next()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect(taken.row()).toMatchObject({ status: "pending", writes: [] });
});

test("a stale worker whose handler failed does not fail an event that another has claimed", async () => {
  const stale = runs(() => {
    const row = stale.row();
    if (row !== undefined) row.attempts += 1;
    throw new PermanentError("stale");
  });
  expect(await stale.next()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect(stale.row()).toMatchObject({ status: "pending" });
  expect(stale.notices.some(({ kind }) => kind === "attempt_failed")).toBe(false);
});

test.each([
  [5n],
  [
    (() => {
      const a: unknown[] = [];
      a.push(a);
      return a;
    })(),
  ],
  ["x".repeat(10_000_000)],
])("what a handler returns is of no account", async (returned) => {
  const handler = (() => Promise.resolve(returned)) as unknown as HandlerFunction;
  expect(await runs(handler).next()).toEqual({ kind: "completed", outcome: "handled" });
});
