import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { Failpoint, JobResult } from "@millrace/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listenOnLoopback } from "../support/free-port.ts";
import { until } from "../support/until.ts";
import { handlerOf } from "../fixtures/steps/handler.mjs";
import { makeJob, useProcessors } from "./processor-fixture.ts";

const SCRIPT = fileURLToPath(new URL("../fixtures/steps/one-event.mjs", import.meta.url));

const processors = useProcessors();
let api: Server;
let apiPort: number;
const calls = new Map<string, string[]>();
const children = new Set<ChildProcess>();

beforeAll(async () => {
  api = createServer((request, response) => {
    const eventId = request.url?.slice(1) ?? "";
    const keys = calls.get(eventId) ?? [];
    keys.push(String(request.headers["idempotency-key"]));
    calls.set(eventId, keys);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ refund: `refund of ${keys[0]}` }));
  });
  apiPort = await listenOnLoopback(api);
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  api?.closeAllConnections();
  api?.close();
});

const apiUrl = (eventId: string) => `http://127.0.0.1:${apiPort}/${eventId}`;

function start(eventId: string, failpoint: Failpoint | "" = "", signal = "SIGKILL") {
  const args = [SCRIPT, processors.url, apiUrl(eventId), eventId, failpoint, signal];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  let isOver = false;
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  void ended.then(() => (isOver = true));
  return {
    struck: () => until(() => output.includes(`STRUCK ${failpoint}`), { what: failpoint }),
    // It may not have stopped yet when it says so.
    goOn: () => until(() => isOver || (child.kill("SIGCONT"), false)),
    result: async (): Promise<JobResult> => {
      await ended;
      return JSON.parse(/^RESULT (.*)$/m.exec(output)?.[1] ?? "null");
    },
  };
}

async function takeOver(eventId: string): Promise<JobResult> {
  const processor = processors.create([handlerOf(apiUrl(eventId))], { attempts: 50 });
  const body = '{"order_id":"o1"}';
  return await until(async () => {
    const result = await processor.process(makeJob({ eventId, type: "order.cancelled", body }));
    return result.kind === "lost" ? undefined : result;
  });
}

async function account(eventId: string) {
  return {
    keys: calls.get(eventId),
    steps: await processors.ask(
      "select name, attempt, result from millrace.steps where event_id = $1",
      [eventId],
    ),
    notes: await processors.notes(eventId),
    row: await processors.row(eventId),
  };
}

test.each<[Failpoint, { calls: number; attempt: number }]>([
  ["worker.recorded", { calls: 1, attempt: 2 }],
  ["worker.before_call", { calls: 1, attempt: 2 }],
  ["worker.step_ran", { calls: 2, attempt: 2 }],
  ["worker.step_recorded", { calls: 1, attempt: 1 }],
  ["worker.called", { calls: 1, attempt: 1 }],
  ["worker.handled", { calls: 1, attempt: 1 }],
])(
  "a worker that is killed at %s leaves one effect, and calls under one key",
  async (failpoint, expected) => {
    const eventId = `evt_${randomUUID()}`;
    const dying = start(eventId, failpoint);
    await dying.struck();
    expect(await dying.result()).toBeNull();
    expect(await takeOver(eventId)).toEqual({ kind: "completed", outcome: "handled" });
    const key = `shop.${eventId}.0.refund`;
    const result = `{"refund":"refund of ${key}"}`;
    const { keys, steps, notes, row } = await account(eventId);
    expect(keys).toEqual(Array<string>(expected.calls).fill(key));
    expect(steps).toEqual([{ name: "refund", attempt: expected.attempt, result }]);
    expect(notes).toEqual([`refund of ${key}`]);
    expect(row?.status).toBe("completed");
  },
);

test("a worker that freezes after its call and before its row, while another runs: two calls, one key, one row", async () => {
  const eventId = `evt_${randomUUID()}`;
  const frozen = start(eventId, "worker.step_ran", "SIGSTOP");
  await frozen.struck();
  expect(await start(eventId).result()).toEqual({ kind: "completed", outcome: "handled" });
  const before = await account(eventId);
  await frozen.goOn();
  expect(await frozen.result()).toMatchObject({ kind: "lost" });
  const key = `shop.${eventId}.0.refund`;
  expect(before.keys).toEqual([key, key]);
  expect(before.steps).toMatchObject([{ name: "refund", attempt: 2 }]);
  expect(before.notes).toHaveLength(1);
  expect(await account(eventId)).toEqual(before);
});
