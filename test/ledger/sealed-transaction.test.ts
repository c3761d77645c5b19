import { sql } from "drizzle-orm";
import { pgMaterializedView, pgTable, text as textColumn } from "drizzle-orm/pg-core";
import type { HandlerTransaction } from "@millrace/core";
import { beforeEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { attemptWith, openAttempts, write } from "./attempt-fixture.ts";
import { anEvent } from "../support/events.ts";
import { patient } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openAttempts);
beforeEach(() => it.ask("TRUNCATE effects"));

const run = (...statements: readonly string[]) =>
  it.attempt(async (tx) => {
    await write(tx, "before");
    for (const text of statements) await tx.execute(sql.raw(text)).catch(() => undefined);
    await write(tx, "after").catch(() => undefined);
  });

async function expectUndone(attempt: ReturnType<typeof it.attempt>, code: string) {
  const { end, status } = await attempt;
  expect(end).toMatchObject({ code });
  expect(status).toBe("pending");
  expect(await it.written()).toEqual([]);
}

describe("An attempt", () => {
  test("rolls a nested transaction back to its savepoint and keeps the rest", async () => {
    const { end } = await it.attempt(async (tx) => {
      await write(tx, "outer");
      await tx.transaction(async (inner) => await write(inner, "inner"));
      await tx
        .transaction(async (inner) => {
          await write(inner, "undone");
          await inner.transaction(async (innermost) => await write(innermost, "undone too"));
          throw new Error("only the nested one");
        })
        .catch(() => undefined);
      await tx
        .transaction(async (inner) => await inner.execute(sql`SELECT 1 / 0`))
        .catch(() => undefined);
      await write(tx, "after");
    });
    expect(end).toBe("completed");
    expect(await it.written()).toEqual(["after", "inner", "outer"]);
  });

  test("writes a table by other columns than an attempt before it named", async () => {
    await it.ask("CREATE TABLE partly_named (left_one text, right_one text)");
    const left = pgTable("partly_named", { left_one: textColumn() });
    const right = pgTable("partly_named", { right_one: textColumn() });
    const first = await it.attempt((tx) => tx.insert(left).values({ left_one: "a" }));
    const second = await it.attempt((tx) => tx.insert(right).values({ right_one: "b" }));
    expect([first.end, second.end]).toEqual(["completed", "completed"]);
  });

  const orders = pgTable("effects", { text: textColumn("name") });
  const row = { text: "never" };
  const one = (tx: HandlerTransaction) => tx.$with("one").as(tx.select().from(orders));
  test.each<[string, (tx: HandlerTransaction) => unknown]>([
    ['an insert into "effects"', (tx) => void tx.insert(orders).values(row)],
    ['an update of "effects"', (tx) => void tx.update(orders).set(row)],
    ['a delete from "effects"', (tx) => void tx.delete(orders)],
    ["a query of tx.execute", (tx) => void tx.execute(sql`delete from effects`)],
    [
      "a query of tx.execute",
      (tx) => void tx.refreshMaterializedView(pgMaterializedView("v", {}).existing()),
    ],
    ["an insert into", (tx) => void tx.with(one(tx)).insert(orders).values(row)],
    ["an insert into", (tx) => tx.transaction(async (own) => void own.insert(orders).values(row))],
    ["an insert into", async (tx) => [await tx.insert(orders).values(row), tx.insert(orders)]],
  ])("fails with %s that was never run", async (what, slip) => {
    await expectUndone(
      it.attempt(async (tx) => void (await slip(tx))),
      "query_not_awaited",
    );
    const { end } = await it.attempt(async (tx) => void (await slip(tx)));
    expect(String(end)).toContain(what);
  });

  test("completes with queries that are run together, by another query, or only read", async () => {
    const { end } = await it.attempt(async (tx) => {
      await Promise.all([tx.insert(orders).values(row), tx.insert(orders).values(row)]);
      const gone = tx.$with("gone").as(tx.delete(orders).returning());
      await tx.with(gone).select().from(gone);
      await tx.insert(orders).values(row).prepare("effect").execute();
      void tx.select().from(orders);
      return tx.update(orders).set(row);
    });
    expect(end).toBe("completed");
  });

  test("fails when the handler swallowed the error of a query, with that error's words", async () => {
    const { end, status } = await it.attempt(async (tx) => {
      await write(tx, "lost");
      await tx.execute(sql`SELECT 1 / 0`).catch(() => undefined);
    });
    expect(end).toMatchObject({ code: "handler_failed" });
    expect(String(end)).toContain("division by zero");
    expect(status).toBe("pending");
    expect(await it.written()).toEqual([]);
  });

  test("that is stopped in the middle of a query is undone, throws the signal's reason, and leaves nothing running", async () => {
    const controller = new AbortController();
    const reason = new Error("the claim was lost");
    const running = it.attempt(async (tx) => {
      await write(tx, "late");
      const sleeping = tx.execute(sql`SELECT pg_sleep(31)`);
      setTimeout(() => controller.abort(reason), 100);
      await sleeping;
    }, patient(controller.signal));
    expect(await running).toEqual({ end: reason, status: "pending" });
    await until(async () => {
      const rows = await it.ask(
        "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(31)%' AND pid <> pg_backend_pid()",
      );
      return rows.length === 0;
    });
    expect(await it.written()).toEqual([]);
  });

  test("that finds the row held by another one does not wait for it", async () => {
    const event = anEvent();
    const number = await it.claim(event);
    const second = await new Promise((resolve, reject) => {
      const outer = async () => resolve(await it.complete(event, number));
      attemptWith(it.ledger, [event, number], outer).catch(reject);
    });
    expect(second).toBe("busy");
  });
});

describe("A handler that would end its transaction", () => {
  test.each([
    ["commit"],
    ["  /* a /* nested */ comment */ COMMIT AND CHAIN"],
    ["-- comment\nrollback"],
    ["; end"],
    ["begin"],
    ["START TRANSACTION"],
    ["prepare transaction 'mine'"],
    ["abort"],
    ["savepoint millrace_1"],
    ['release savepoint "millrace_1"'],
    ["/* x */ ROLLBACK TO Millrace_1"],
    ['rollback to U&"\\006dillrace_1"'],
  ])("is refused %j, also when it swallows the refusal", async (text) => {
    await expectUndone(run(text), "tx_control_refused");
  });

  test.each([
    ["select 1; commit"],
    ["select 1; commit; begin"],
    ["insert into effects values ('x'); commit; begin; select 1"],
    ["DO $$ BEGIN COMMIT; END $$"],
  ])("cannot hide it in %j", async (text) => {
    await expectUndone(run(text), "handler_failed");
  });

  test("that gets round the guard all the same never makes the event completed", async () => {
    for (const trick of ["COMMIT", "COMMIT; BEGIN", "ROLLBACK; BEGIN"]) {
      await expectUndone(
        it.attempt(() => busiestClient().query(trick)),
        "tx_changed",
      );
    }
  });
});

describe("A transaction whose handler has returned", () => {
  test("is sealed: a stray write after success writes nowhere", async () => {
    let stray: HandlerTransaction | undefined;
    const { end } = await it.attempt(async (tx) => {
      stray = tx;
      await write(tx, "in time");
    });
    expect(end).toBe("completed");
    const tx = stray as HandlerTransaction;
    const cause = { code: "tx_closed" };
    await expect(write(tx, "stray").execute()).rejects.toMatchObject({ cause });
    const nested = tx.transaction((inner) => write(inner, "x"));
    await expect(nested).rejects.toMatchObject({ cause });
    expect(await it.written()).toEqual(["in time"]);
  });

  test("is sealed: a stray write after a failure does not get into another event", async () => {
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    let stray: Promise<unknown> = Promise.resolve();
    const { end } = await it.attempt(async (tx) => {
      stray = gate.then(() => write(tx, "stray")).catch((error: Error) => error.cause);
      throw new Error("failed");
    });
    expect(end).toMatchObject({ message: "failed" });
    const next = await it.attempt(async (tx) => {
      go();
      await stray;
      await write(tx, "next");
    });
    expect(next.end).toBe("completed");
    expect(await stray).toMatchObject({ code: "tx_closed" });
    expect(await it.written()).toEqual(["next"]);
  });

  test("waits for a query that the handler did not await", async () => {
    let stray: Promise<unknown> = Promise.resolve();
    const { end } = await it.attempt(async (tx) => {
      // drizzle sends nothing before someone asks for the answer.
      stray = tx.execute(sql`INSERT INTO effects SELECT 'unawaited' FROM pg_sleep(0.1)`).execute();
      await new Promise((resolve) => setImmediate(resolve));
    });
    await stray;
    expect(end).toBe("completed");
    expect(await it.written()).toEqual(["unawaited"]);
  });

  test("does not outlive its signal for a query that the handler did not await", async () => {
    const controller = new AbortController();
    const reason = new Error("the worker closes");
    let stray: Promise<unknown> = Promise.resolve();
    const { end, status } = await it.attempt(async (tx) => {
      stray = tx.execute(sql`SELECT pg_sleep(30)`).catch(() => undefined);
      setTimeout(() => controller.abort(reason), 100);
      await new Promise((resolve) => setImmediate(resolve));
    }, patient(controller.signal));
    await stray;
    expect(end).toBe(reason);
    expect(status).toBe("pending");
  });

  test("is undone when a query that the handler did not await fails", async () => {
    let stray: Promise<unknown> = Promise.resolve();
    const attempt = it.attempt(async (tx) => {
      await write(tx, "lost");
      stray = tx.execute(sql`SELECT 1 / 0 FROM pg_sleep(0.1)`).catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
    });
    await expectUndone(attempt, "handler_failed");
    await stray;
  });

  test("is undone when a nested transaction was left open", async () => {
    let stray: Promise<unknown> = Promise.resolve();
    let opened: () => void = () => {};
    const isOpen = new Promise<void>((resolve) => (opened = resolve));
    const attempt = it.attempt(async (tx) => {
      stray = tx
        .transaction(async (inner) => {
          await write(inner, "half");
          opened();
          await until(async () => false, { withinMs: 200 }).catch(() => undefined);
          await write(inner, "other half");
        })
        .catch(() => undefined);
      await isOpen;
    });
    await expectUndone(attempt, "tx_closed");
    await stray;
  });
});

describe("A handler that sets savepoints itself", () => {
  test.each([
    "SAVEPOINT a; SAVEPOINT b; RELEASE a",
    "SAVEPOINT a; SAVEPOINT b; SAVEPOINT c; RELEASE b; RELEASE SAVEPOINT a",
    "SAVEPOINT a; SAVEPOINT b; ROLLBACK TO a",
    "SAVEPOINT a; SAVEPOINT b; ROLLBACK WORK TO SAVEPOINT a; RELEASE a",
    "SAVEPOINT a; SAVEPOINT a; RELEASE a; RELEASE a",
    "SAVEPOINT a; RELEASE A",
    'SAVEPOINT "a b"; RELEASE /* it */ "a b"',
    "SAVEPOINT savepoint; RELEASE savepoint",
    "SAVEPOINT a; SELECT 1 / 0; SAVEPOINT b; ROLLBACK TO a; RELEASE a",
  ])("and ends them is completed: %s", async (statements) => {
    expect(await run(...statements.split("; "))).toEqual({ end: "completed", status: "completed" });
    expect(await it.written()).toEqual(["after", "before"]);
  });

  test.each([
    "SAVEPOINT a",
    "SAVEPOINT a; SAVEPOINT b; RELEASE b",
    "SAVEPOINT a; SAVEPOINT a; RELEASE a",
    "SAVEPOINT a; SAVEPOINT b; ROLLBACK TO b; RELEASE b",
    'SAVEPOINT "A"; SAVEPOINT a; RELEASE a',
  ])("and leaves one open fails: %s", async (statements) => {
    await expectUndone(run(...statements.split("; ")), "tx_closed");
  });
});

function busiestClient(): { query(text: string): Promise<unknown> } {
  interface Inside {
    _clients: { query(text: string): Promise<unknown>; getTransactionStatus(): string }[];
  }
  const { _clients: clients } = it.pool as unknown as Inside;
  const busy = clients.find((client) => client.getTransactionStatus() === "T");
  if (busy === undefined) throw new Error("Cannot find a client in a transaction");
  return busy;
}
