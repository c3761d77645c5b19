import { MillraceError, PermanentError, type EventJob } from "@millrace/core";
import { sql } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { effect, repeatJob, thenThrow, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

beforeAll(async () => {
  await processors.ask("create table deferred (id int unique deferrable initially deferred)");
});

function postgresError(code: string): Error {
  return Object.assign(new Error("terminating connection"), { code, severity: "FATAL" });
}

function unavailable(): never {
  throw new MillraceError("database_unavailable", "Cannot use Postgres: away");
}

test("a database that fails the attempt uses up no attempts, and is left alone for longer each time", async () => {
  const broken = thenThrow(postgresError("57P01"));
  const { next, row, charged } = repeatJob(processors, broken, { attempts: 1 });
  const delays = [];
  for (let run = 0; run < 4; run += 1) {
    const result = await next();
    expect(result).toMatchObject({ kind: "retry", code: "database_unavailable", recorded: true });
    delays.push(result.kind === "retry" ? result.afterMs : 0);
  }
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(await row()).toMatchObject({ status: "pending", attempts: 4 });
  expect(await charged()).toBe(0);
});

test("a handler whose every attempt fails by the database's fault ends failed after fifty that are forgiven", async () => {
  const deadlock = sql`select millrace.refuse('deadlock detected', '40P01')`;
  const run: Parameters<typeof repeatJob>[1] = async (_event, { tx }) =>
    void (await tx.execute(deadlock));
  const { next, row } = repeatJob(processors, run, { attempts: 3 });
  let end = await next();
  const found = await processors.ask(
    "select title from millrace.errors where code = 'database_unavailable'",
  );
  expect(found).toEqual([{ title: "DatabaseError: deadlock detected (SQLSTATE 40P01)" }]);
  for (let n = 0; n < 200 && end.kind === "retry"; n += 1) end = await next();
  expect(end).toMatchObject({ kind: "failed", code: "database_unavailable", recorded: true });
  expect(await row()).toMatchObject({ status: "failed", attempts: 53 });
});

test("a last failure that could not be recorded is left alone for a while before it is tried again", async () => {
  const { next } = repeatJob(processors, thenThrow(new Error("no")), {
    attempts: 1,
    before: {
      fail: () => {
        throw new Error("permission denied for table attempts");
      },
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
  const { next, row } = repeatJob(processors, thenThrow(new PermanentError("no")), {
    databaseRetryMs: 5_000,
    before: { fail: () => (away -= 1) >= 0 && unavailable() },
  });
  expect(await next()).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect((await row())?.status).toBe("failed");
});

test("a failure that could not be recorded is never reported as final", async () => {
  const { next, row, notices } = repeatJob(processors, thenThrow(new PermanentError("no")), {
    before: { fail: unavailable },
  });
  expect(await next()).toMatchObject({ kind: "retry", code: "permanent_error", recorded: false });
  expect((await row())?.status).toBe("pending");
  expect(notices).toContainEqual(
    expect.objectContaining({ kind: "attempt_failed", code: "permanent_error", final: false }),
  );
});

test("a job that cannot be recorded comes again, and no attempt is counted", async () => {
  let fault: (jobs: readonly EventJob[]) => void = unavailable;
  const { next, row } = repeatJob(processors, () => {}, {
    before: { record: (jobs) => fault(jobs) },
  });
  const away = { kind: "retry", code: "database_unavailable", recorded: false };
  expect(await next()).toMatchObject(away);
  expect(await row()).toBeUndefined();
  fault = () => {
    throw new Error("surprise");
  };
  const surprise = { kind: "retry", code: "internal", message: "Error: surprise" };
  expect(await next()).toMatchObject(surprise);
});

test("a commit that failed is a failed attempt, not a completed event", async () => {
  const { next, row, effects } = repeatJob(processors, async (event, context) => {
    await effect(event, context);
    await context.tx.execute(sql`insert into deferred values (1), (1)`);
  });
  expect(await next()).toMatchObject({ kind: "retry", code: "handler_failed", recorded: true });
  expect((await row())?.status).toBe("pending");
  expect(await effects()).toBe(0);
});
