import { createLedger, isDatabaseUnavailable, transaction } from "@millrace/ledger";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import {
  claim,
  failure,
  openTestLedger,
  patient,
  statusOf,
  testPool,
  type TestLedger,
} from "../support/ledger-fixture.ts";

let it: TestLedger;
beforeAll(async () => {
  it = await openTestLedger();
  await it.ask("CREATE TABLE effects (name text NOT NULL)");
});
afterAll(() => it.close());
beforeEach(() => it.ask("TRUNCATE effects"));

const effects = async () => (await it.ask("SELECT FROM effects")).length;

describe("A connection that dies", () => {
  test("while the handler awaits something else fails the attempt, and nothing else", async () => {
    const event = anEvent();
    const number = await claim(it.ledger, event);
    const end = await it.ledger.claims
      .attempt(
        keyOf(event),
        number,
        async (tx) => {
          await tx.execute(sql`INSERT INTO effects VALUES ('lost')`);
          await it.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
          );
          // The process has heard of it by now, and lives.
          await until(() => it.pool.totalCount >= 0 && noneInTransaction());
          return "handled";
        },
        patient(),
      )
      .catch((error: unknown) => error);
    expect(end).toMatchObject({ code: "database_unavailable" });
    expect(isDatabaseUnavailable(end)).toBe(true);
    expect(await effects()).toBe(0);
    expect(await claim(it.ledger, event)).toBe(number + 1);
  });

  test("makes a later query of the handler fail as the database's fault", async () => {
    const event = anEvent();
    const end = await it.ledger.claims
      .attempt(
        keyOf(event),
        await claim(it.ledger, event),
        async (tx) => {
          await it.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
          );
          await until(noneInTransaction);
          await tx.execute(sql`INSERT INTO effects VALUES ('lost')`);
          return "handled";
        },
        patient(),
      )
      .catch((error: unknown) => error);
    expect(end).toMatchObject({ code: "database_unavailable" });
  });

  test("is replaced: a full pool of terminated connections recovers, and none leaks", async () => {
    for (let round = 0; round < 3; round += 1) {
      const events = Array.from({ length: 5 }, () => anEvent());
      await it.ledger.claims.record(events.map((event) => aJob(event)));
      let running = 0;
      const ends = events.map((event) =>
        it.ledger.claims
          .attempt(
            keyOf(event),
            1,
            async () => {
              running += 1;
              if (running === 5) {
                await it.ask(
                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
                );
              }
              await until(() => running === 5 && noneInTransaction());
              return "handled";
            },
            patient(),
          )
          .catch((error: unknown) => isDatabaseUnavailable(error)),
      );
      expect(await Promise.all(ends)).toEqual(Array(5).fill(true));
      const again = await it.ledger.claims.record(events.map((event) => aJob(event)));
      expect(again.map((one) => one.kind)).toEqual(Array(5).fill("claimed"));
    }
    await until(() => it.pool.totalCount === it.pool.idleCount);
    expect(it.pool.waitingCount).toBe(0);
    expect(it.pool.totalCount).toBeLessThanOrEqual(5);
  });

  const noneInTransaction = async () => {
    const rows = await it.ask(
      "SELECT FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND datname = current_database()",
    );
    return rows.length === 0;
  };
});

test("A connection that someone else borrowed from the pool may die without ending the process", async () => {
  const client = await it.pool.connect();
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  await it.ask("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
  await ended;
  client.release(true);
  await expect(it.ledger.reads.ping()).resolves.toBeUndefined();
});

test("COMMIT of a transaction that a swallowed error aborted is an error, and writes nothing", async () => {
  const committed = transaction(
    it.pool,
    async (client) => {
      await client.query("INSERT INTO effects VALUES ('lost')");
      await client.query("SELECT 1 / 0").catch(() => undefined);
      return "done";
    },
    {
      limits: { statementTimeoutMs: 5_000, lockTimeoutMs: 1_000, idleTimeoutMs: 5_000 },
      deadlineMs: 6_000,
    },
  );
  await expect(committed).rejects.toThrow(/Postgres answered ROLLBACK/);
  expect(await effects()).toBe(0);
});

describe("A network that breaks", () => {
  let proxy: TcpProxy;
  beforeAll(async () => {
    proxy = await startTcpProxy(it.url);
  });
  afterAll(() => proxy.close());

  async function overProxy(options: { statementTimeoutMs?: number } = {}) {
    const pool = testPool(proxy.url, 3);
    return { pool, ledger: createLedger({ pool }, options) };
  }

  test("after COMMIT was sent: the attempt is an error, and the next claim finds it completed", async () => {
    const { pool, ledger } = await overProxy();
    const event = anEvent();
    const number = await claim(ledger, event);
    const end = await ledger.claims
      .attempt(
        keyOf(event),
        number,
        async (tx) => {
          await tx.execute(sql`INSERT INTO effects VALUES ('once')`);
          proxy.cutAfter("COMMIT");
          return "handled";
        },
        patient(),
      )
      .catch((error: unknown) => error);
    expect(proxy.struck).toBe(1);
    expect(end).toMatchObject({ code: "database_unavailable" });
    await until(async () => (await statusOf(it, event)) === "completed");
    expect(await ledger.claims.fail(keyOf(event), number, { ...failure, final: true })).toBe(
      "lost",
    );
    expect(await ledger.claims.record([aJob(event)])).toEqual([{ kind: "completed" }]);
    expect(await effects()).toBe(1);
    await pool.end();
  });

  test("before COMMIT arrived: the attempt is an error, and the next claim runs it again", async () => {
    const { pool, ledger } = await overProxy();
    const event = anEvent();
    const struck = proxy.struck;
    const end = await ledger.claims
      .attempt(
        keyOf(event),
        await claim(ledger, event),
        async (tx) => {
          await tx.execute(sql`INSERT INTO effects VALUES ('never')`);
          proxy.cutBefore("COMMIT");
          return "handled";
        },
        patient(),
      )
      .catch((error: unknown) => error);
    expect(proxy.struck).toBe(struck + 1);
    expect(end).toMatchObject({ code: "database_unavailable" });
    const again = await until(async () => {
      const [first] = await ledger.claims.record([aJob(event)]);
      return first?.kind === "busy" ? undefined : first;
    });
    expect(again).toMatchObject({ kind: "claimed" });
    expect(await effects()).toBe(0);
    await pool.end();
  });

  test("at BEGIN or at ROLLBACK gives no connection back that may hold a transaction", async () => {
    const { pool, ledger } = await overProxy();
    const expected = [
      ["BEGIN", { code: "database_unavailable" }],
      ["ROLLBACK", { message: "the handler's own" }],
    ] as const;
    for (const [text, answer] of expected) {
      const event = anEvent();
      const number = await claim(ledger, event);
      const struck = proxy.struck;
      proxy.cutBefore(text);
      const work = async () => {
        throw new Error("the handler's own");
      };
      const end = await ledger.claims
        .attempt(keyOf(event), number, work, patient())
        .catch((error: unknown) => error);
      expect(proxy.struck).toBe(struck + 1);
      expect(end).toMatchObject(answer);
      await until(() => pool.totalCount === pool.idleCount);
    }
    const writes = (name: string) => `INSERT INTO effects VALUES ('${name}')`;
    const options = {
      limits: { statementTimeoutMs: 5_000, lockTimeoutMs: 1_000, idleTimeoutMs: 5_000 },
      deadlineMs: 6_000,
    };
    const first = transaction(
      pool,
      async (client) => {
        await client.query(writes("first"));
        proxy.cutBefore("ROLLBACK");
        throw new Error("first error");
      },
      options,
    );
    await expect(first).rejects.toThrow("first error");
    await transaction(pool, (client) => client.query(writes("second")), options);
    expect(await it.ask("SELECT name FROM effects")).toEqual([{ name: "second" }]);
    await pool.end();
  });

  test("into a black hole ends every call within its deadline, and the pool recovers", async () => {
    const { pool, ledger } = await overProxy({ statementTimeoutMs: 200 });
    const event = anEvent();
    const number = await claim(ledger, event);
    await Promise.all([ledger.reads.ping(), ledger.reads.ping(), ledger.reads.ping()]);
    proxy.freeze();
    const ends = await Promise.all(
      [
        ledger.claims.record([aJob(anEvent())]),
        ledger.claims.attempt(
          keyOf(event),
          number,
          () => Promise.resolve("handled"),
          patient(AbortSignal.timeout(500)),
        ),
        ledger.reads.ping(),
      ].map((call: Promise<unknown>) => call.catch((error: unknown) => error)),
    );
    expect(ends[0]).toMatchObject({ code: "database_unavailable" });
    expect(ends[1]).toMatchObject({ name: "TimeoutError" });
    expect(ends[2]).toMatchObject({ code: "database_unavailable" });
    proxy.thaw();
    expect(await claim(ledger, event)).toBe(number + 1);
    await until(() => pool.totalCount === pool.idleCount);
    await pool.end();
  });

  test("is the database's fault, and a handler's own failed call to elsewhere is not", async () => {
    const nowhere = testPool("postgres://nobody@127.0.0.1:1/none");
    const error = await createLedger({ pool: nowhere })
      .reads.ping()
      .catch((caught: unknown) => caught);
    expect(isDatabaseUnavailable(error)).toBe(true);
    await nowhere.end();
    const own = new TypeError("fetch failed", {
      cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
    });
    expect(isDatabaseUnavailable(own)).toBe(false);
  });
});
