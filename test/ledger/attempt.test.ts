import { sql } from "drizzle-orm";
import { pgTable, text } from "drizzle-orm/pg-core";
import { isDatabaseUnavailable } from "@millrace/ledger";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { openAttempts, write } from "./attempt-fixture.ts";
import { anEvent, keyOf } from "../support/events.ts";
import { claim, complete, failure, patient, statusOf } from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openAttempts);
beforeAll(async () => {
  await it.ask("CREATE TABLE deferred (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
});
beforeEach(() => it.ask("TRUNCATE effects"));

describe("An attempt", () => {
  test("commits the handler's writes together with the completed event", async () => {
    const { end, status } = await it.attempt((tx) => write(tx, "paid"));
    expect(end).toBe("completed");
    expect(status).toBe("completed");
    expect(await it.written()).toEqual(["paid"]);
  });

  test("undoes the writes of a handler that throws, and throws the same error on", async () => {
    const own = new Error("No stock");
    const { end, status } = await it.attempt(async (tx) => {
      await write(tx, "paid");
      throw own;
    });
    expect(end).toBe(own);
    expect(isDatabaseUnavailable(end)).toBe(false);
    expect(status).toBe("pending");
    expect(await it.written()).toEqual([]);
  });

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
    const left = pgTable("partly_named", { left_one: text() });
    const right = pgTable("partly_named", { right_one: text() });
    const first = await it.attempt((tx) => tx.insert(left).values({ left_one: "a" }));
    const second = await it.attempt((tx) => tx.insert(right).values({ right_one: "b" }));
    expect([first.end, second.end]).toEqual(["completed", "completed"]);
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

  test("fails when a deferred constraint is broken at COMMIT", async () => {
    const { end, status } = await it.attempt(async (tx) => {
      await write(tx, "lost");
      await tx.execute(sql`INSERT INTO deferred VALUES (1), (1)`);
    });
    expect(end).toMatchObject({ code: "23505" });
    expect(status).toBe("pending");
    expect(await it.written()).toEqual([]);
  });
});

describe("An attempt that is stopped", () => {
  test("in the middle of a query is undone, throws the signal's reason, and leaves nothing running", async () => {
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

  test("ends although the handler never does", async () => {
    const reason = new Error("the time is up");
    const controller = new AbortController();
    const { end } = await it.attempt(() => {
      controller.abort(reason);
      return new Promise(() => {});
    }, patient(controller.signal));
    expect(end).toBe(reason);
  });
});

describe("A stale worker", () => {
  test("that lost its claim before it began is told so, and its handler does not run", async () => {
    const event = anEvent();
    const stale = await claim(it.ledger, event);
    await claim(it.ledger, event);
    let ran = false;
    const end = await it.ledger.claims.attempt(
      keyOf(event),
      stale,
      () => {
        ran = true;
        return Promise.resolve("handled");
      },
      patient(),
    );
    expect([end, ran]).toEqual(["lost", false]);
    expect(await it.ledger.claims.fail(keyOf(event), stale, { ...failure, final: true })).toBe(
      "lost",
    );
    expect(await statusOf(it, event)).toBe("pending");
  });

  test("that finds the row held by another attempt does not wait for ever", async () => {
    const event = anEvent();
    const number = await claim(it.ledger, event);
    const second = await new Promise((resolve, reject) => {
      const outer = async () => {
        resolve(await complete(it.ledger, event, number));
        return "handled" as const;
      };
      it.ledger.claims.attempt(keyOf(event), number, outer, patient()).catch(reject);
    });
    expect(second).toBe("lost");
  });

  test("of two on one event, one writes", async () => {
    const event = anEvent();
    const number = await claim(it.ledger, event);
    const run = () =>
      it.ledger.claims.attempt(
        keyOf(event),
        number,
        async (tx) => {
          await write(tx, "once");
          return "handled";
        },
        patient(),
      );
    const ends = await Promise.all([run(), run(), run()]);
    expect(ends.toSorted()).toEqual(["completed", "lost", "lost"]);
    expect(await it.written()).toEqual(["once"]);
  });
});
