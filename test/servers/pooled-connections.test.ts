import { createLedger, type Ledger } from "@millrace/ledger";
import { sql } from "drizzle-orm";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeBehindPgbouncer } from "../support/describe-on-servers.ts";
import { openTestLedger, testPool, type TestLedger } from "../support/ledger-fixture.ts";
import { startPgbouncer, type TestPgbouncer } from "../support/pgbouncer.ts";
import { until } from "../support/until.ts";
import { LEFT_BEHIND } from "../attacks/left-behind.ts";
import { WAYS, type Way } from "../ledger/attempt-fixture.ts";

// Behind a pooler in transaction mode, the next transaction of a server connection is anyone's.

describeBehindPgbouncer("a handler behind transaction pooling", () => {
  let it: TestLedger;
  let pooler: TestPgbouncer;
  let pool: pg.Pool;
  let ledger: Ledger;
  let other: pg.Pool;

  beforeAll(async () => {
    it = await openTestLedger();
    pooler = await startPgbouncer(it.url, { poolSize: 1 });
    pool = testPool(pooler.url, 1);
    other = testPool(pooler.url, 1);
    ledger = createLedger({ pool });
  });
  afterAll(async () => {
    await Promise.all([pool?.end(), other?.end()]);
    await pooler?.stop();
    await it?.close();
  });

  const otherWaits = async () => {
    const pools = await pooler.ask("SHOW POOLS");
    return pools.some(({ cl_waiting: waiting }) => Number(waiting) > 0);
  };

  async function leaveAndLook(attempt: Way, leave: string, isThere: string, fails: boolean) {
    let pid: unknown;
    let looking: Promise<pg.QueryResult> | undefined;
    const end = await attempt(ledger, async (tx) => {
      pid = (await tx.execute(sql`select pg_backend_pid() as pid`)).rows[0]?.["pid"];
      await tx.execute(sql.raw(leave));
      looking = other.query(`select pg_backend_pid() as pid, ${isThere} as found`);
      await until(otherWaits);
      if (fails) throw new Error("as the event says");
    }).catch((error: unknown) => error);
    const [seen] = (await looking)?.rows ?? [];
    return { end, pid, seen };
  }

  describe.each(Object.entries(WAYS))("in %s", (_, attempt) => {
    const left = Object.entries(LEFT_BEHIND).flatMap(([what, [leave, isThere]]) =>
      [false, true].map((fails) => ({ what, leave, isThere, fails })),
    );
    test.each(left)(
      "$what does not reach who waits for the connection, of an event that fails: $fails",
      async ({ leave, isThere, fails }) => {
        const { end, pid, seen } = await leaveAndLook(attempt, leave, isThere, fails);
        if (fails) expect(end).toMatchObject({ message: "as the event says" });
        else expect(end).toBe("completed");
        expect(seen).toEqual({ pid, found: false });
      },
    );
  });

  test.each(Object.entries(WAYS))(
    "a lock of %s whose COMMIT a deferred constraint refuses does not reach who waits for the connection",
    async (_, attempt) => {
      await it.ask("create table if not exists late (id int unique deferrable initially deferred)");
      const isLocked = "exists (select from pg_locks where locktype = 'advisory' and objid = 47)";
      const leave = "with late as (insert into late values (1), (1)) select pg_advisory_lock(47)";
      const { end, pid, seen } = await leaveAndLook(attempt, leave, isLocked, false);
      expect(end).toBeInstanceOf(Error);
      expect(seen).toEqual({ pid, found: false });
    },
  );

  test("what cleans is not prepared there, because the next backend may not have it", async () => {
    const count =
      "select count(*)::int as n from pg_prepared_statements where name ~ 'RESET|DISCARD|unlock'";
    expect((await other.query(count)).rows).toEqual([{ n: 0 }]);
  });
});
