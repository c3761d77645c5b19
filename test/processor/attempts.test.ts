import {
  MillraceError,
  on,
  PermanentError,
  RetryLater,
  type EventJob,
  type HandlerFunction,
} from "@millrace/core";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  openTestProcessors,
  effect,
  makeJob,
  thenThrow,
  type TestProcessors,
  type Options,
} from "./processor-fixture.ts";

let processors: TestProcessors;

beforeAll(async () => {
  processors = await openTestProcessors();
  await processors.ask("create table deferred (id int unique deferrable initially deferred)");
});
afterAll(() => processors?.close());

/** Backoff and jitter at their longest, so that delays are exact. */
const EXACT = {
  backoff: { firstMs: 2_000, factor: 3, maxMs: 3_600_000 },
  random: () => 1,
  databaseRetryMs: 300,
};

/** Runs one job again and again, each time as the queue does after it was given a result. */
function runs(handler: HandlerFunction, options: Options = {}) {
  const processor = processors.create([on("shop", "*", handler)], { ...EXACT, ...options });
  const job = makeJob();
  const { eventId } = job.event;
  let run = 0;
  return {
    ...{ processor, job, eventId, notices: processor.notices },
    next: (name = `run-${(run += 1)}`) => processor.process({ ...job, run: name }),
    row: () => processors.row(eventId),
    effects: () => processors.effects(eventId),
    /** Counts an attempt as another worker does that claims the event. */
    claimElsewhere: () =>
      processors.ask("update millrace.events set attempts = attempts + 1 where event_id = $1", [
        eventId,
      ]),
    attemptsSinceRetry: async () => {
      const [row] = await processors.ask<{ n: number }>(
        "select attempts - attempts_at_retry as n from millrace.events where event_id = $1",
        [eventId],
      );
      return row?.n;
    },
  };
}

/** An error as Postgres sends it. */
function postgresError(code: string): Error {
  return Object.assign(new Error("terminating connection"), { code, severity: "FATAL" });
}

function unavailable(): never {
  throw new MillraceError("database_unavailable", "Cannot use Postgres: away");
}

test("a failing handler is undone, recorded and tried again, until its last attempt fails it", async () => {
  const { next, row, effects } = runs(thenThrow(new TypeError("broken")));
  expect(await next()).toEqual({
    kind: "retry",
    afterMs: 2_000,
    code: "handler_failed",
    message: "TypeError: broken",
    recorded: true,
  });
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
  expect(await next()).toMatchObject({ kind: "retry", afterMs: 6_000 });
  expect(await next()).toEqual({
    kind: "failed",
    code: "handler_failed",
    message: "TypeError: broken",
    recorded: true,
  });
  expect(await row()).toMatchObject({ status: "failed", attempts: 3 });
  expect(await effects()).toBe(0);
});

test("a failed event whose queue did not get the result fails again, and no handler runs", async () => {
  const { next, row } = runs(thenThrow(new PermanentError("no")));
  await next("run-1");
  expect(await next("run-1")).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect((await row())?.attempts).toBe(1);
});

test("an event is failed without an attempt only when its job is refused", async () => {
  let abandoned = 0;
  const beforeAbandon = () => void (abandoned += 1);
  const failing = runs(thenThrow(new PermanentError("no")), { beforeAbandon });
  expect(await failing.next("run-1")).toMatchObject({ kind: "failed", recorded: true });
  expect(await failing.next("run-1")).toMatchObject({ kind: "failed", recorded: true });
  expect(await runs(effect, { beforeAbandon }).next()).toMatchObject({ kind: "completed" });
  expect(abandoned).toBe(0);
  const unknown = makeJob({ source: "nobody" });
  expect(await failing.processor.process(unknown)).toMatchObject({ code: "unknown_source" });
  expect(abandoned).toBe(1);
});

test("a failed event that someone retried gets all its attempts again", async () => {
  const { next, row } = runs(thenThrow(new Error("no")), { attempts: 1 });
  expect(await next()).toMatchObject({ kind: "failed" });
  expect(await next()).toMatchObject({ kind: "failed", code: "handler_failed" });
  expect(await row()).toMatchObject({ status: "failed", attempts: 2 });
});

test("attempts that died with their workers use the policy up", async () => {
  const { next, row, claimElsewhere } = runs(thenThrow(new Error("no")), { attempts: 2 });
  await next();
  await claimElsewhere();
  expect(await next()).toMatchObject({ kind: "failed", code: "attempts_exhausted" });
  expect(await row()).toMatchObject({
    status: "failed",
    last_error: expect.stringContaining("2 attempts"),
  });
});

test("PermanentError fails the event at once, also from another copy of the module", async () => {
  expect(await runs(thenThrow(new PermanentError("no such user"))).next()).toMatchObject({
    kind: "failed",
    code: "permanent_error",
    message: "PermanentError: no such user",
  });
  const foreign = Object.assign(new Error("foreign"), {
    [Symbol.for("millrace.permanent-error")]: true,
  });
  expect(await runs(thenThrow(foreign)).next()).toMatchObject({
    kind: "failed",
    code: "permanent_error",
  });
});

test("RetryLater sets the delay, and is an attempt like any other", async () => {
  const { next } = runs(thenThrow(new RetryLater({ afterMs: 77 })), { attempts: 2 });
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
  expect(await runs(thenThrow(foreign)).next()).toMatchObject({ kind: "retry", afterMs });
});

test.each([[null], ["text"], [undefined], [5n], [Object.create(null)]])(
  "a handler may throw %o",
  async (thrown) => {
    expect(await runs(thenThrow(thrown)).next()).toMatchObject({
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
  expect(await runs(thenThrow(hostile)).next()).toMatchObject({
    kind: "retry",
    code: "handler_failed",
    recorded: true,
  });
});

test("an error whose cause cannot be read is a failed attempt", async () => {
  const cause = Object.defineProperty(new Error("inner"), "code", {
    get: () => {
      throw new Error("no");
    },
  });
  expect(await runs(thenThrow(new Error("outer", { cause }))).next()).toMatchObject({
    kind: "retry",
    code: "handler_failed",
    recorded: true,
  });
});

test("a handler's own MillraceError does not choose the code, except for its misuse of tx", async () => {
  const shutdown = new MillraceError("shutting_down", "x");
  expect(await runs(thenThrow(shutdown)).next()).toMatchObject({ code: "handler_failed" });
  const closed = new MillraceError("tx_closed", "x");
  expect(await runs(thenThrow(closed)).next()).toMatchObject({ code: "tx_closed" });
});

test("a database that fails the attempt uses up no attempts, and is left alone for longer each time", async () => {
  const { next, row, attemptsSinceRetry } = runs(thenThrow(postgresError("57P01")), {
    attempts: 1,
  });
  const delays = [];
  for (let run = 0; run < 4; run += 1) {
    const result = await next();
    expect(result).toMatchObject({ kind: "retry", code: "database_unavailable", recorded: true });
    delays.push(result.kind === "retry" ? result.afterMs : 0);
  }
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(await row()).toMatchObject({ status: "pending", attempts: 4 });
  expect(await attemptsSinceRetry()).toBe(0);
});

test("a handler whose every attempt fails by the database's fault ends failed after fifty that are forgiven", async () => {
  const { next, row } = runs(thenThrow(postgresError("40P01")), { attempts: 3 });
  let end = await next();
  for (let run = 0; run < 200 && end.kind === "retry"; run += 1) end = await next();
  expect(end).toMatchObject({ kind: "failed", code: "database_unavailable", recorded: true });
  expect(await row()).toMatchObject({ status: "failed", attempts: 53 });
});

test("a last failure that could not be recorded is left alone for a while before it is tried again", async () => {
  const { next } = runs(thenThrow(new Error("no")), {
    attempts: 1,
    beforeFail: () => {
      throw new Error("permission denied for table attempts");
    },
  });
  for (const code of ["handler_failed", "attempts_exhausted"]) {
    const result = await next();
    expect(result).toMatchObject({ kind: "retry", code, recorded: false });
    expect(result.kind === "retry" && result.afterMs).toBeGreaterThanOrEqual(1_000);
  }
});

test("a failure is recorded when Postgres comes back in time", async () => {
  let away = 2;
  const { next, row } = runs(thenThrow(new PermanentError("no")), {
    databaseRetryMs: 5_000,
    beforeFail: () => {
      if ((away -= 1) >= 0) unavailable();
    },
  });
  expect(await next()).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect((await row())?.status).toBe("failed");
});

test("a failure that could not be recorded is never reported as final", async () => {
  const { next, row, notices } = runs(thenThrow(new PermanentError("no")), {
    beforeFail: unavailable,
  });
  expect(await next()).toMatchObject({ kind: "retry", code: "permanent_error", recorded: false });
  expect((await row())?.status).toBe("pending");
  expect(notices).toContainEqual(
    expect.objectContaining({ kind: "attempt_failed", code: "permanent_error", final: false }),
  );
});

test("a job that cannot be recorded comes again, and no attempt is counted", async () => {
  let fault: (jobs: readonly EventJob[]) => void = unavailable;
  const { next, row } = runs(() => {}, { beforeRecord: (jobs) => fault(jobs) });
  expect(await next()).toMatchObject({
    kind: "retry",
    code: "database_unavailable",
    recorded: false,
  });
  expect(await row()).toBeUndefined();
  fault = () => {
    throw new Error("surprise");
  };
  expect(await next()).toMatchObject({
    kind: "retry",
    code: "internal",
    message: "Error: surprise",
  });
});

test("a commit that failed is a failed attempt, not a completed event", async () => {
  const { next, row, effects } = runs(async (event, context) => {
    await effect(event, context);
    await context.tx.execute(sql`insert into deferred values (1), (1)`);
  });
  expect(await next()).toMatchObject({ kind: "retry", code: "handler_failed", recorded: true });
  expect((await row())?.status).toBe("pending");
  expect(await effects()).toBe(0);
});

test("a stale worker whose claim was superseded writes nothing", async () => {
  const { next, row, effects, claimElsewhere } = runs(effect, {
    beforeAttempt: async () => void (await claimElsewhere()),
  });
  expect(await next()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect(await row()).toMatchObject({ status: "pending", attempts: 2 });
  expect(await effects()).toBe(0);
});

test("a stale worker whose handler failed does not fail an event that another has claimed", async () => {
  const { next, row, notices, claimElsewhere } = runs(thenThrow(new PermanentError("stale")), {
    beforeFail: async () => void (await claimElsewhere()),
  });
  expect(await next()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect((await row())?.status).toBe("pending");
  expect(notices.some(({ kind }) => kind === "attempt_failed")).toBe(false);
});
