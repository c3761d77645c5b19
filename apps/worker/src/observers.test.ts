import type { QueueNotice } from "@millrace/queue";
import type { Logger } from "@millrace/service";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { observeLedger, observeQueue, observeReconciler } from "./observers.ts";

const at = { source: "shop", jobId: "evt_1" };
const error = new Error("connection reset");
const unused = { sources: [], running: () => 0, leading: () => false, logger: {} as Logger };

/** Lines of the log that is limited by cause, and of the other one. */
async function observed(notice: QueueNotice) {
  const registry = new Registry();
  const limited: unknown[][] = [];
  const lines: unknown[][] = [];
  const observe = observeQueue({
    ...unused,
    registry,
    logError: (...line) => void limited.push(line),
    logger: { error: (...line: unknown[]) => void lines.push(line) } as unknown as Logger,
  });
  observe(notice);
  return { limited, lines, metrics: await registry.metrics() };
}

test.each([
  [
    { kind: "stalled", ...at },
    ["queue: stalled", "job evt_1 of shop lost its worker"],
    'millrace_worker_stalled_total{source="shop"} 1',
  ],
  [
    { kind: "lock_lost", ...at },
    ["queue: lock lost", "job evt_1 of shop lost its lock"],
    'millrace_worker_locks_lost_total{source="shop"} 1',
  ],
  [
    { kind: "backed_off", source: "shop", forMs: 1_000 },
    ["queue: backing off", "too many errors from source shop"],
    "",
  ],
  [{ kind: "background_error", cause: "connection", error }, ["queue: connection", error], ""],
] as [QueueNotice, unknown[], string][])(
  "%o is logged about once a second, and counted if it concerns a job",
  async (notice, line, metric) => {
    const { limited, lines, metrics } = await observed(notice);
    expect(limited).toEqual([line]);
    expect(lines).toEqual([]);
    expect(metrics).toContain(metric);
  },
);

test.each([
  { kind: "job_abandoned", ...at, reason: "stalled" },
  { kind: "refused", ...at, code: "invalid_envelope" },
] as QueueNotice[])("%o is logged each time", async (notice) => {
  const { limited, lines } = await observed(notice);
  expect(limited).toEqual([]);
  expect(lines).toEqual([[notice, "job failed by the queue"]]);
});

test("closed connections are counted by source and reason, and a source without any has none", async () => {
  const registry = new Registry();
  const logged: string[] = [];
  const observe = observeLedger({
    ...unused,
    registry,
    logError: (cause) => logged.push(cause),
    sources: ["shop", "bank"],
  });
  observe({ source: "shop", reason: "session" });
  observe({ source: "shop", reason: "session" });
  observe({ source: "shop", reason: "uncleaned" });
  const text = await registry.metrics();
  const line = (source: string, reason: string, count: number) =>
    `millrace_worker_connections_reset_total{source="${source}",reason="${reason}"} ${count}`;
  expect(text).toContain(line("shop", "session", 2));
  expect(text).toContain(line("shop", "uncleaned", 1));
  expect(text).toContain(line("bank", "session", 0));
  expect(logged).toEqual(Array.from({ length: 3 }, () => "connection closed: shop"));
});

test("a disagreement about an event that waits for its first job is not counted", async () => {
  const registry = new Registry();
  const logger = { info() {} } as unknown as Logger;
  const observe = observeReconciler({ ...unused, registry, logger, logError() {} });
  const found = new Map([
    ["pending_without_job" as const, { count: 7, owed: 5, repaired: 0, examples: [] }],
  ]);
  const pass = { kind: "passed", whole: true, found, repaired: 0, looked: 7, tookMs: 1 };
  observe(pass as never);
  expect(await registry.metrics()).toContain(
    'millrace_disagreements{kind="pending_without_job"} 2',
  );
});
