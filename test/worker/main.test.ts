import { fileURLToPath } from "node:url";
import { createPool } from "@millrace/ledger";
import { createPostgresQueues, type Queues } from "@millrace/queue";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand, startRole, type MillraceProcess } from "../support/millrace-process.ts";
import { migratedDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { makeEvent } from "./worker-bench.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/worker/millrace.config.ts", import.meta.url));

let database: Awaited<ReturnType<typeof migratedDatabase>>;
let pool: pg.Pool;
let queues: Queues;

beforeAll(async () => {
  database = await migratedDatabase();
  pool = createPool({ url: database.url, max: 2, applicationName: "test" });
  queues = await createPostgresQueues({
    url: database.url,
    sources: ["shop"],
    role: "cli",
    notify: () => {},
  });
});
afterAll(async () => {
  await queues.close();
  await pool.end();
  await database.drop();
});

const environment = () => ({
  DATABASE_URL: database.url,
  MILLRACE_CONFIG: CONFIG,
  WORKER_PORT: "0",
  HOST: "127.0.0.1",
});

const stateOf = async (eventId: string) => {
  const { rows } = await pool.query<{ status: string; last_error: string | null }>(
    "select status, last_error from webhook_events where event_id = $1",
    [eventId],
  );
  return rows[0];
};

async function hangingWorker(): Promise<{ worker: MillraceProcess; eventId: string }> {
  const worker = await startRole("worker", environment());
  const event = makeEvent({ type: "hang", eventId: `evt_${process.pid}_${Date.now()}` });
  await queues.enqueue([event]);
  await until(async () => (await stateOf(event.eventId))?.status === "pending");
  await until(async () => {
    const metrics = await (await fetch(`${worker.url}/metrics`)).text();
    return /millrace_worker_running_handlers\{role="worker"\} [12]/.test(metrics);
  });
  return { worker, eventId: event.eventId };
}

test("SIGTERM gives what runs its time, undoes it and exits 0", async () => {
  const { worker, eventId } = await hangingWorker();
  expect(await worker.end("SIGTERM")).toBe(0);
  expect(await stateOf(eventId)).toMatchObject({
    status: "pending",
    last_error: expect.stringContaining("the worker is closing"),
  });
});

test("a second signal ends the process at once", async () => {
  const { worker } = await hangingWorker();
  worker.signal("SIGTERM");
  await until(() => worker.output().includes("shutting down"));
  expect(await worker.end("SIGTERM")).toBe(130);
});

test("handlers that cannot be imported stop the start, with their cause", async () => {
  const { code, output } = await runCommand(["worker"], { ...environment(), BREAK: "import" });
  expect(code).toBe(1);
  expect(output).toContain("handlers_not_loaded");
  expect(output).toContain("the handlers are broken");
});

test("handlers of sources that are not configured stop the start, all of them named", async () => {
  const { code, output } = await runCommand(["worker"], { ...environment(), BREAK: "sources" });
  expect(code).toBe(1);
  expect(output).toMatch(/shpo[^]*bnak/);
});

test("without DATABASE_URL the worker says how to set it", async () => {
  const { code, output } = await runCommand(["worker"], { ...environment(), DATABASE_URL: "" });
  expect(code).toBe(1);
  expect(output).toContain("postgres://");
});
