import { poolName } from "@millrace/core";
import type { ServerFacts } from "@millrace/ledger";
import { expect, test } from "vitest";
import {
  checkConnections,
  connectionFinding,
  readConnectionUse,
  workerConnections,
} from "./connection-budget.ts";

type Pool = Parameters<typeof readConnectionUse>[0];
type Held = readonly { login: string; name: string; count: number }[];

const factsOf = (given: number, loginLimit = -1) =>
  ({ login: "app", maxConnections: given + 3, reservedConnections: 3, loginLimit }) as ServerFacts;

/** A pool whose Postgres gives so many connections, of which some are held. */
function giving(given: number, held: Held = [], loginLimit = -1): Pool {
  const facts = factsOf(given, loginLimit);
  const query = (text: string) =>
    Promise.resolve({ rows: text.includes("pg_stat_activity") ? held : [facts] });
  return { query } as unknown as Pool;
}

const config = { worker: { concurrency: 20 } } as Parameters<typeof checkConnections>[1];
const check = (given: number, queuesOnPostgres = false) =>
  checkConnections(factsOf(given), config, { queuesOnPostgres });

test("a worker starts with just the connections that it may need, and not with one less", () => {
  const wanted = workerConnections(20);
  check(wanted);
  const text = `it may need ${wanted} connections and Postgres gives ${wanted - 1}`;
  expect(() => check(wanted - 1)).toThrow(
    expect.objectContaining({
      code: "too_many_connections",
      message: expect.stringContaining(text),
    }),
  );
});

test("queues on Postgres want connections too", () => {
  expect(() => check(workerConnections(20), true)).toThrow(
    expect.objectContaining({ code: "too_many_connections" }),
  );
});

const workers = (count: number): Held =>
  Array.from({ length: count }, () => ({
    login: "app",
    name: poolName("millrace-worker", workerConnections(20)),
    count: 2,
  }));

test("workers fit until one of them is too many, however few connections they hold now", async () => {
  const psql = { login: "someone", name: "psql", count: 1 };
  const fits = await readConnectionUse(giving(197, [...workers(7), psql]));
  expect(fits).toMatchObject({ given: 197, pools: 7, mayTake: 196, others: 1 });
  expect(connectionFinding(fits)).toBeUndefined();
  const full = await readConnectionUse(giving(197, [...workers(7), psql, { ...psql, name: "x" }]));
  expect(connectionFinding(full)?.detail).toBe(
    "7 pools of Millrace may take 196 connections and others hold 2, but Postgres gives 197 (max_connections is 200, and 3 are reserved)",
  );
});

test("a login's own limit counts its own connections, where it leaves less", async () => {
  const others = { login: "someone", name: "", count: 50 };
  const use = await readConnectionUse(giving(197, [...workers(2), others], 55));
  expect(use).toMatchObject({ given: 55, mayTake: 56, others: 0 });
  expect(connectionFinding(use)?.detail).toContain('the CONNECTION LIMIT of the login "app"');
  const wide = await readConnectionUse(giving(100, [...workers(2), others], 90));
  expect(wide).toMatchObject({ given: 100, others: 50 });
});

test("pools of a build that does not name them so count as what they hold", async () => {
  const old = { login: "app", name: "millrace-worker", count: 5 };
  expect(await readConnectionUse(giving(197, [old]))).toMatchObject({ pools: 0, others: 5 });
});
