import { createLedger, type ConnectionReset } from "@millrace/ledger";
import { sql } from "drizzle-orm";
import type { HandlerTransaction } from "@millrace/core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { messagesOf, testPool, useLedger } from "../support/ledger-fixture.ts";
import { LEFT_BEHIND } from "../attacks/left-behind.ts";
import { WAYS, type Way } from "./attempt-fixture.ts";

const it = useLedger({ max: 1 });

const run = (text: string) => (tx: HandlerTransaction) => tx.execute(sql.raw(text));
const pid = async () => {
  const { rows } = await it.pool.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
};

async function knownConnection(way: Way): Promise<void> {
  for (const text of ["set work_mem = '8MB'", "select 1", "select 1"]) {
    expect(await way(it.ledger, run(text))).toBe("completed");
  }
}

const LEFT: typeof LEFT_BEHIND = {
  ...LEFT_BEHIND,
  "the order in which schemas are searched": [
    "select set_config('search_path', 'nowhere', false)",
    "current_setting('search_path') = 'nowhere'",
  ],
  "a role": [
    // The transaction's own role hides it until the COMMIT.
    "select set_config('role', 'pg_read_all_data', false), set_config('role', session_user, true)",
    "current_user <> session_user",
  ],
  "a setting of a DO block": [
    "do $$ begin execute 'set acme.tenant = ''a'''; end $$",
    "coalesce(current_setting('acme.tenant', true), '') <> ''",
  ],
  "the last value of a sequence": [
    "select nextval('left_behind_ids')",
    "last_value_here() is not null",
  ],
};
const LATE = ["a role", "a LISTEN in a DO block"];

describe.each(Object.entries(WAYS))("after %s", (_, way) => {
  const attempt = (work: Parameters<Way>[1]) => way(it.ledger, work);

  beforeAll(async () => {
    await it.ask("create sequence if not exists left_behind_ids");
    await it.ask(`create or replace function last_value_here() returns bigint language plpgsql as $$
      begin return lastval(); exception when others then return null; end $$`);
  });

  test.each(Object.entries(LEFT))(
    "%s is gone, and the connection is used again",
    async (what, [leave, isThere]) => {
      const look = `select ${isThere} as found`;
      const before = await pid();
      const seen: unknown[] = [];
      const end = await attempt(async (tx) => {
        await run(leave)(tx);
        seen.push((await run(look)(tx)).rows[0]);
      });
      expect(end).toBe("completed");
      expect(seen).toEqual([{ found: !LATE.includes(what) }]);
      expect((await it.pool.query(look)).rows).toEqual([{ found: false }]);
      expect(await pid()).toBe(before);
    },
  );

  test("what outlasts a rollback is gone too", async () => {
    const before = await pid();
    const thrown = new Error("No stock");
    const end = await attempt(async (tx) => {
      await run("select pg_advisory_lock(48)")(tx);
      throw thrown;
    });
    expect(end).toBe(thrown);
    const free = await it.ask("select pg_try_advisory_lock(48), pg_advisory_unlock(48)");
    expect(free).toMatchObject([{ pg_try_advisory_lock: true }]);
    expect(await pid()).toBe(before);
  });

  test("prepared statements and what the connection was opened with are still there", async () => {
    const statement = { name: "kept", text: "select 1 as one" };
    await it.pool.query(statement);
    await attempt(run("select set_config('application_name', 'mine', false)"));
    const { rows } = await it.pool.query(
      "select current_setting('application_name') as name, exists (select from pg_prepared_statements where name = 'kept') as kept",
    );
    expect(rows).toEqual([{ name: "millrace-test", kept: true }]);
  });

  test("COMMIT and the cleaning were one message, and a handler without a query has none", async () => {
    await knownConnection(way);
    const last = async (work: Parameters<Way>[1]) =>
      (await messagesOf(() => attempt(work)))
        .at(-1)
        ?.slice(-9)
        .map(({ text }) => text) ?? [];
    const cleaned = await last(run("select 1"));
    expect([cleaned[0], cleaned.at(-1)]).toEqual(["COMMIT", "DISCARD SEQUENCES"]);
    expect((await last(() => Promise.resolve())).at(-1)).toBe("COMMIT");
  });

  test("whose COMMIT was refused, the connection is closed, and a lock that outlasts it is free", async () => {
    await it.ask("create table if not exists late (id int unique deferrable initially deferred)");
    await knownConnection(way);
    const before = await pid();
    const end = await attempt(async (tx) => {
      await run("select pg_advisory_lock(49)")(tx);
      await run("insert into late values (1), (1)")(tx);
    });
    expect(end).toBeInstanceOf(Error);
    expect(await pid()).not.toBe(before);
    await until(async () => {
      const [row] = await it.ask("select pg_try_advisory_lock(49) as free, pg_advisory_unlock(49)");
      return row?.["free"];
    });
  });
});

describe("when something goes wrong behind the COMMIT", () => {
  const ROLE = `millrace_limited_${process.pid}`;
  const resets: ConnectionReset[] = [];
  beforeAll(async () => {
    await it.ask(`create role ${ROLE}`);
    await it.ask(`grant usage on schema millrace to ${ROLE}`);
    await it.ask(`grant all on all tables in schema millrace to ${ROLE}`);
    await it.ask(`grant all on all sequences in schema millrace to ${ROLE}`);
    await it.ask("revoke execute on function pg_advisory_unlock_all() from public");
  });
  afterAll(async () => {
    await it.ask(`drop owned by ${ROLE}`);
    await it.ask(`drop role ${ROLE}`);
  });
  beforeEach(() => {
    resets.length = 0;
  });

  test.each(Object.entries(WAYS))(
    "%s is completed all the same, and its connection is closed",
    async (_, attempt) => {
      const url = new URL(it.url);
      url.searchParams.set("options", `-c role=${ROLE}`);
      const pool = testPool(url.href, 1);
      const ledger = createLedger({ pool }, { onReset: (reset) => resets.push(reset) });
      try {
        const whoAndWhere = "select current_user as role, pg_backend_pid() as pid";
        const before = (await pool.query(whoAndWhere)).rows[0];
        expect(before).toMatchObject({ role: ROLE });
        expect(await attempt(ledger, () => Promise.resolve())).toBe("completed");
        expect((await pool.query(whoAndWhere)).rows[0]).toEqual(before);
        expect(resets).toEqual([]);
        expect(await attempt(ledger, run("select 1"))).toBe("completed");
        expect(resets).toEqual([{ source: expect.any(String), reason: "uncleaned" }]);
        expect((await pool.query(whoAndWhere)).rows[0]?.pid).not.toBe(before.pid);
      } finally {
        await pool.end();
      }
    },
  );
});
