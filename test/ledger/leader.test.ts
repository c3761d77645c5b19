import { createLeader, type Leader } from "@millrace/ledger";
import type pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { openTestLedger, testPool, type TestLedger } from "../support/ledger-fixture.ts";

let it: TestLedger;
let proxy: TcpProxy;
let pools: pg.Pool[];
let first: Leader;
let second: Leader;
beforeAll(async () => {
  it = await openTestLedger();
});
afterAll(() => it.close());
beforeEach(async () => {
  proxy = await startTcpProxy(it.url);
  pools = [testPool(proxy.url, 2), testPool(it.url, 2)];
  const [ours, theirs] = pools.map((pool) => createLeader({ pool }, "chores"));
  if (ours === undefined || theirs === undefined) throw new Error("no leaders");
  first = ours;
  second = theirs;
});
afterEach(async () => {
  first.close();
  second.close();
  await Promise.all(pools.map((pool) => pool.end()));
  await proxy.close();
  // A lead ends with its connection, which Postgres may notice a moment later.
  await until(async () => (await it.ask(`SELECT ${LEADERS}`)).length === 0);
});

// The leaders of other files' databases are on the same server.
const LEADERS = `pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'millrace-leader' AND datname = current_database()`;

const killLeader = () => it.ask(`SELECT ${LEADERS}`);

test("One of two leads, until it gives the lead up", async () => {
  const signal = await first.lead();
  expect(signal?.aborted).toBe(false);
  expect(await second.lead()).toBeUndefined();
  expect(await first.lead()).toBe(signal);
  expect([first.leading, second.leading]).toEqual([true, false]);
  first.close();
  expect(signal?.aborted).toBe(true);
  await until(() => second.lead());
  expect([first.leading, second.leading]).toEqual([false, true]);
  expect(await first.lead()).toBeUndefined();
});

test("Two processes lead under two names", async () => {
  const other = createLeader({ pool: it.pool }, "other chores");
  expect(await first.lead()).toBeDefined();
  expect(await other.lead()).toBeDefined();
  other.close();
});

test("A leader whose connection is killed hears of it, and another one takes over", async () => {
  const signal = await first.lead();
  await killLeader();
  await until(() => signal?.aborted);
  expect(first.leading).toBe(false);
  expect(await second.lead()).toBeDefined();
  expect(await first.lead()).toBeUndefined();
});

test("A leader that lost its connection leads again on a new one", async () => {
  const signal = await first.lead();
  await killLeader();
  await until(() => signal?.aborted);
  const again = await first.lead();
  expect(again?.aborted).toBe(false);
  expect(again).not.toBe(signal);
});

test("A leader that Postgres does not answer stands down", async () => {
  const signal = await first.lead();
  proxy.freeze();
  await expect(first.lead()).rejects.toMatchObject({ code: "database_unavailable" });
  expect(signal?.aborted).toBe(true);
  proxy.thaw();
  proxy.cut();
  await until(() => second.lead());
});

test("Who asks twice at once leads once, and holds one connection", async () => {
  const [one, two] = await Promise.all([first.lead(), first.lead()]);
  expect(one).toBe(two);
  expect(pools[0]?.totalCount).toBe(1);
});
