import { readFile } from "node:fs/promises";
import { createRetentionLedger } from "@millrace/ledger";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openForEach } from "../support/open-for.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { until } from "../support/until.ts";
import { createTestRole, type TestRole } from "./worker-fixture.ts";

const it = openForEach(openTestRetention);
const roles: TestRole[] = [];
beforeEach(() => it.ask("create table effects (event_id text)"));
afterEach(() => Promise.all(roles.splice(0).map(({ role }) => role.close())));

type ReadMetric = ((name: string) => Promise<number>) & { all(): Promise<string> };

async function startWorker(): Promise<ReadMetric> {
  const { role } = createRole();
  const port = await role.listen({ port: 0, host: "127.0.0.1" });
  await role.start();
  const all = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const read = async (name: string) => {
    const value = new RegExp(`^millrace_retention_${name}\\{role="worker"\\} (\\S+)$`, "m");
    return Number(value.exec(await all())?.[1]);
  };
  return Object.assign(read, { all });
}

function createRole(given?: Parameters<typeof createTestRole>[1]): TestRole {
  const created = createTestRole({ databaseUrl: it.url }, given);
  roles.push(created);
  return created;
}

const lines = () => roles.flatMap((created) => created.lines);

test("A worker drops what is old by itself, and shows what it did", async () => {
  const [gone, failed] = [await it.event("completed", 91), await it.event("failed", 91)];
  const young = await it.event("completed", 20);
  const metric = await startWorker();
  await until(async () => (await metric("last_success_timestamp_seconds")) > 0);
  expect(await metric("failures_total")).toBe(0);
  const { day } = await it.partition(20);
  expect(await metric("oldest_bodies_timestamp_seconds")).toBe(Date.parse(day) / 1_000);
  expect(await it.ledger.reads.findEvent(gone)).toBeUndefined();
  for (const key of [failed, young]) expect(await it.bodyOf(key)).toBeDefined();
  expect(lines().map(({ message }) => message)).toEqual(
    expect.arrayContaining(["bodies dropped", "old events deleted"]),
  );
});

test("A worker that is closed while a drop waits for somebody ends at once", async () => {
  await it.event("completed", 40);
  const commit = await it.holdOpen("SELECT FROM millrace.bodies");
  await startWorker();
  await it.untilBlocked();
  await roles[0]?.role.close();
  await commit();
  const retention = createRetentionLedger({ pool: it.pool });
  expect((await retention.partitions()).map(({ ageDays }) => ageDays)).toContain(40);
});

test("A worker whose start fails closes what it had opened", async () => {
  await it.event("completed", 40);
  const commit = await it.holdOpen("SELECT FROM millrace.bodies");
  const work = () => {
    throw new Error("no workers");
  };
  const { role } = createRole({ onQueues: (queues) => Object.assign(queues, { work }) });
  const connections = () =>
    it.ask(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> 'millrace-test'`,
    );
  try {
    await expect(role.start()).rejects.toThrow("no workers");
    await role.close();
    // Neither the queue's connections are left, nor a drop that waits for the reader.
    const what = "that the worker has no connection left";
    await until(async () => (await connections()).length === 0, { withinMs: 5_000, what });
  } finally {
    await commit();
  }
});

test("the page on monitoring names metrics of the worker that there are", async () => {
  const page = await readFile(new URL("../../docs/monitoring.md", import.meta.url), "utf8");
  const named = page.match(/\bmillrace_(worker|retention|reconciler|disagreements)\w*/g) ?? [];
  expect(named.length).toBeGreaterThan(8);
  const text = await (await startWorker()).all();
  for (const name of named) expect(text).toContain(`# TYPE ${name} `);
});
