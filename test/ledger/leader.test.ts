import { findLeader, Leader } from "@millrace/ledger";
import { hostname } from "node:os";
import type pg from "pg";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openForEach } from "../support/open-for.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { testPool, useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();
const proxy = openForEach(() => startTcpProxy(it.url));
let pools: pg.Pool[];
let first: Leader;
let second: Leader;
beforeEach(() => {
  const [ours, theirs] = [testPool(proxy.url, 2), testPool(it.url, 2)];
  pools = [ours, theirs];
  first = new Leader({ pool: ours }, "chores");
  second = new Leader({ pool: theirs }, "chores");
});
afterEach(async () => {
  await Promise.all([first.close(), second.close()]);
  await Promise.all(pools.map((pool) => pool.end()));
  await it.ask("DELETE FROM millrace.leaders");
});

const shiftLease = (by: string) =>
  it.ask(`UPDATE millrace.leaders
    SET renewed_at = renewed_at + interval '${by}', expires_at = expires_at + interval '${by}'`);

test("One of two leads, until it gives the lead up", async () => {
  const signal = await first.lead();
  expect(signal?.aborted).toBe(false);
  expect(await second.lead()).toBeUndefined();
  expect(await first.lead()).toBe(signal);
  expect([first.leading, second.leading]).toEqual([true, false]);
  await first.close();
  expect(signal?.aborted).toBe(true);
  expect(await second.lead()).toBeDefined();
  expect([first.leading, second.leading]).toEqual([false, true]);
  expect(await first.lead()).toBeUndefined();
});

test("Who asks for a lead that another transaction is about to take does not get it", async () => {
  const commit = await it.holdOpen(`INSERT INTO millrace.leaders VALUES
      ('chores', 'the winner', 'there', clock_timestamp(), clock_timestamp() + interval '10 s')`);
  const losing = second.lead();
  await it.untilBlocked();
  await commit();
  expect(await losing).toBeUndefined();
  expect(second.leading).toBe(false);
});

test("A leader keeps the lead beyond its lease, by renewing it", async () => {
  const signal = await first.lead();
  const [taken] = await it.ask<{ ends: Date }>("SELECT expires_at AS ends FROM millrace.leaders");
  await until(async () => {
    const [row] = await it.ask<{ over: boolean }>("SELECT clock_timestamp() > $1 AS over", [
      taken?.ends,
    ]);
    return row?.over;
  });
  expect(await second.lead()).toBeUndefined();
  expect(await first.lead()).toBe(signal);
  expect(signal?.aborted).toBe(false);
});

test("A leader that Postgres does not answer stops before another one may begin", async () => {
  const signal = await first.lead();
  const began: string[] = [];
  signal?.addEventListener("abort", () => began.push("stopped"));
  proxy.freeze();
  await until(() => second.lead());
  began.push("another leads");
  expect(began).toEqual(["stopped", "another leads"]);
  expect(first.leading).toBe(false);
  proxy.thaw();
  expect(await first.lead()).toBeUndefined();
});

test("A leader whose connections are cut once keeps the lead", async () => {
  const signal = await first.lead();
  const [before] = await it.ask<{ at: Date }>("SELECT renewed_at AS at FROM millrace.leaders");
  proxy.cut();
  await until(async () => {
    const [row] = await it.ask<{ at: Date }>("SELECT renewed_at AS at FROM millrace.leaders");
    return row !== undefined && before !== undefined && row.at > before.at;
  });
  expect(await first.lead()).toBe(signal);
  expect(signal?.aborted).toBe(false);
});

test("A leader finds at its next renewal that its lease is another's", async () => {
  const signal = await first.lead();
  await shiftLease("-1 minute");
  expect(await second.lead()).toBeDefined();
  await until(() => signal?.aborted);
  expect(await first.lead()).toBeUndefined();
});

test("A machine that slept does not lead when it wakes, before any timer has run", async () => {
  const signal = await first.lead();
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(first.leading).toBe(false);
  expect(signal?.aborted).toBe(true);
});

test("A lease that lies in the future keeps nobody out: the database's clock was set back", async () => {
  await first.lead();
  await shiftLease("1 hour");
  expect(await second.lead()).toBeDefined();
});

test("The leader is found by its machine, and nobody once it has given up", async () => {
  expect(await findLeader(it.pool, "chores")).toBeUndefined();
  await first.lead();
  const found = await findLeader(it.pool, "chores");
  expect(found?.host).toBe(hostname());
  expect(found?.seenMsAgo).toBeGreaterThanOrEqual(0);
  await first.close();
  expect(await findLeader(it.pool, "chores")).toBeUndefined();
});

test("Who asks twice at once leads once, and holds no connection", async () => {
  const [one, two] = await Promise.all([first.lead(), first.lead()]);
  expect(one).toBe(two);
  expect(pools[0]).toMatchObject({ totalCount: 1, idleCount: 1 });
});
