import { createLedger, isDatabaseUnavailable, transaction } from "@millrace/ledger";
import type { HandlerTransaction } from "@millrace/core";
import { sql } from "drizzle-orm";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import {
  claim,
  failure,
  handled,
  patient,
  testPool,
  useLedger,
} from "../support/ledger-fixture.ts";
import { openForAll } from "../support/open-for.ts";
import { attemptWith } from "./attempt-fixture.ts";

const it = useLedger();
beforeAll(async () => {
  await it.ask("CREATE TABLE effects (name text NOT NULL)");
});
beforeEach(() => it.ask("TRUNCATE effects"));

const effects = async () => (await it.ask("SELECT FROM effects")).length;

const attempt = async (
  work: (tx: HandlerTransaction) => Promise<unknown>,
  { ledger = it.ledger, event = anEvent() } = {},
): Promise<unknown> =>
  attemptWith(ledger, [event, await claim(ledger, event)], work).catch((error: unknown) => error);

const insert = (name: string) => (tx: HandlerTransaction) =>
  tx.execute(sql`INSERT INTO effects VALUES (${name})`);

const UNAVAILABLE = { code: "database_unavailable" };
const IN_TRANSACTION = "state LIKE 'idle in transaction%' AND datname = current_database()";

async function terminateAll(): Promise<void> {
  await it.ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${IN_TRANSACTION}`);
  const left = () => it.ask(`SELECT FROM pg_stat_activity WHERE ${IN_TRANSACTION}`);
  await until(async () => (await left()).length === 0);
}

test("A full pool of terminated connections recovers, and none leaks", async () => {
  for (let round = 0; round < 3; round += 1) {
    let running = 0;
    const ends = Array.from({ length: 5 }, () =>
      attempt(async () => {
        running += 1;
        await until(() => running === 5);
        await terminateAll();
      }),
    );
    for (const end of await Promise.all(ends)) expect(isDatabaseUnavailable(end)).toBe(true);
    expect(await it.complete(anEvent())).toBe("completed");
  }
  await until(() => it.pool.totalCount === it.pool.idleCount);
  expect(it.pool.waitingCount).toBe(0);
  expect(it.pool.totalCount).toBeLessThanOrEqual(5);
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

const LIMITS = { statementTimeoutMs: 5_000, lockTimeoutMs: 1_000, deadlineMs: 6_000 };

test("COMMIT of a transaction that a swallowed error aborted is an error, and writes nothing", async () => {
  const committed = transaction(
    it.pool,
    async (client) => {
      await client.query("INSERT INTO effects VALUES ('lost')");
      await client.query("SELECT 1 / 0").catch(() => undefined);
    },
    LIMITS,
  );
  await expect(committed).rejects.toThrow(/Postgres answered ROLLBACK/);
  expect(await effects()).toBe(0);
});

describe("A network that breaks", () => {
  const proxy = openForAll(() => startTcpProxy(it.url));

  async function overProxy(options: { statementTimeoutMs?: number } = {}) {
    const pool = testPool(proxy.url, 3);
    return { pool, ledger: createLedger({ pool }, options) };
  }

  test.each([
    ["after COMMIT was sent", "cutAfter", "completed", 1],
    ["before COMMIT arrived", "cutBefore", "claimed", 0],
  ] as const)(
    "%s: the attempt is an error, and the next claim finds what is so",
    async (...row) => {
      const [, cut, kind, left] = row;
      const { pool, ledger } = await overProxy();
      const event = anEvent();
      const struck = proxy.struck;
      const work = async (tx: HandlerTransaction) => {
        await insert("once")(tx);
        proxy[cut]("COMMIT");
      };
      expect(await attempt(work, { ledger, event })).toMatchObject(UNAVAILABLE);
      expect(proxy.struck).toBe(struck + 1);
      if (kind === "completed") {
        await until(async () => (await it.statusOf(event)) === "completed");
        expect(await ledger.claims.fail(event, 1, { ...failure, final: true })).toBe("lost");
      }
      const again = await until(async () => {
        const [first] = await ledger.claims.record([aJob(event)]);
        return first?.kind === "busy" ? undefined : first;
      });
      expect(again).toMatchObject({ kind });
      expect(await effects()).toBe(left);
      await pool.end();
    },
  );

  test.each([
    ["BEGIN", UNAVAILABLE],
    ["ROLLBACK", { message: "the handler's own" }],
  ])("at %s gives no connection back that may hold a transaction", async (text, answer) => {
    const { pool, ledger } = await overProxy();
    const event = anEvent();
    const number = await claim(ledger, event);
    const struck = proxy.struck;
    proxy.cutBefore(text);
    const throws = () => Promise.reject(new Error("the handler's own"));
    const end = ledger.claims.attempt(keyOf(event), number, throws, patient());
    expect(await end.catch((error: unknown) => error)).toMatchObject(answer);
    expect(proxy.struck).toBe(struck + 1);
    await until(() => pool.totalCount === pool.idleCount);
    await pool.end();
  });

  test("into a black hole ends every call within its deadline, and the pool recovers", async () => {
    const { pool, ledger } = await overProxy({ statementTimeoutMs: 200 });
    const event = anEvent();
    const number = await it.claim(event);
    // A busy machine may take longer than the statement's time to open the connections.
    const pings = () => Promise.all([1, 2, 3].map(() => ledger.reads.ping()));
    await until(async () => (await pings()).length);
    proxy.freeze();
    const ends = await Promise.all(
      [
        ledger.claims.record([aJob(anEvent())]),
        ledger.claims.attempt(keyOf(event), number, handled, patient(AbortSignal.timeout(500))),
        ledger.reads.ping(),
      ].map((call: Promise<unknown>) => call.catch((error: unknown) => error)),
    );
    expect(ends[0]).toMatchObject({ code: "database_unavailable" });
    expect(ends[1]).toMatchObject({ name: "TimeoutError" });
    expect(ends[2]).toMatchObject({ code: "database_unavailable" });
    proxy.thaw();
    expect(await until(() => claim(ledger, event))).toBe(number + 1);
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
