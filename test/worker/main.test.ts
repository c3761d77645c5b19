import { fileURLToPath } from "node:url";
import type { Queues } from "@millrace/queue";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand, startRole, type MillraceProcess } from "../support/millrace-process.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { seenEvents } from "../support/seen-events.ts";
import { until } from "../support/until.ts";
import { makeEvent } from "./worker-fixture.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/worker/millrace.config.ts", import.meta.url));

let database: TestLedger;
let queues: Queues;

beforeAll(async () => {
  database = await openTestLedger();
  queues = await openTestQueues({ databaseUrl: database.url }, "cli", ["shop"]);
});
afterAll(async () => {
  await queues.close();
  await database.close();
});

const environment = () => ({
  DATABASE_URL: database.url,
  MILLRACE_CONFIG: CONFIG,
  WORKER_PORT: "0",
  HOST: "127.0.0.1",
});

const stateOf = (eventId: string) => seenEvents(database.pool).row(eventId);

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

test("what a handler writes to its log stands in the worker's, with its event", async () => {
  const { worker, eventId } = await hangingWorker();
  const line = await until(() =>
    worker
      .output()
      .split("\n")
      .find((one) => one.includes("the handler has begun")),
  );
  expect(JSON.parse(line)).toMatchObject({
    ...{ role: "worker", msg: "the handler has begun", order: "o1" },
    ...{ source: "shop", event_id: eventId, generation: 0, attempt: 1 },
  });
  await worker.end("SIGKILL");
});

test("a second signal ends the process at once", async () => {
  const { worker } = await hangingWorker();
  worker.signal("SIGTERM");
  await until(() => worker.output().includes("shutting down"));
  expect(await worker.end("SIGTERM")).toBe(130);
});

test.each<[string, Record<string, string>, RegExp]>([
  [
    "handlers that cannot be imported stop the start, with their cause",
    { BREAK: "import" },
    /the handlers are broken \([^)]+\.m?ts:[\d:]+\) \(handlers_not_loaded\)/,
  ],
  [
    "handlers of sources that are not configured stop the start, all of them named",
    { BREAK: "sources" },
    /shpo[^]*bnak/,
  ],
  ["without DATABASE_URL the worker says how to set it", { DATABASE_URL: "" }, /postgres:\/\//],
])("%s", async (_title, env, text) => {
  const { code, output } = await runCommand(["worker"], { ...environment(), ...env });
  expect(code).toBe(1);
  expect(output).toMatch(text);
});
