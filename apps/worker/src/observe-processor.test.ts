import type { Notice } from "@millrace/processor";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { observeProcessor } from "./observe-processor.ts";

const finished: Notice & { kind: "finished" } = {
  kind: "finished",
  key: { source: "shop", eventId: "evt_1", generation: 0 },
  result: "completed",
  outcome: "handled",
  code: undefined,
  handlerMs: 20,
  sinceReceivedMs: -5,
  queueAgeMs: 30,
};

/** Of metrics alone: what is logged goes nowhere. */
const unlogged = {
  running: () => 7,
  leading: () => false,
  logger: { isLevelEnabled: () => false, debug: () => {}, warn: () => {} } as never,
  logError: () => {},
};

test("settlements are counted by source and outcome, and times are never below nothing", async () => {
  const registry = new Registry();
  const observe = observeProcessor({ ...unlogged, registry, sources: ["shop"] });
  observe(finished);
  observe({
    ...finished,
    result: "duplicate",
    outcome: undefined,
    handlerMs: undefined,
  });
  const text = await registry.metrics();
  expect(text).toContain('millrace_worker_jobs_total{source="shop",outcome="handled"} 1');
  expect(text).toContain('millrace_worker_jobs_total{source="shop",outcome="duplicate"} 1');
  expect(text).toContain('millrace_worker_handler_seconds_count{source="shop"} 1');
  expect(text).toContain('millrace_worker_receipt_to_completion_seconds_sum{source="shop"} 0');
  expect(text).toContain("millrace_worker_running_handlers 7");
});

test("groups are counted by source, and a source without any has none", async () => {
  const registry = new Registry();
  const observe = observeProcessor({ ...unlogged, registry, sources: ["shop", "bank"] });
  observe({ kind: "group_ended", source: "shop", size: 20, undone: 0 });
  observe({ kind: "group_ended", source: "shop", size: 30, undone: 2 });
  const text = await registry.metrics();
  expect(text).toContain('millrace_groups_undone_total{source="shop"} 1');
  expect(text).toContain('millrace_groups_undone_total{source="bank"} 0');
  expect(text).toContain('millrace_worker_group_size_count{source="shop"} 2');
  expect(text).toContain('millrace_worker_group_size_sum{source="shop"} 50');
  expect(text).toContain('millrace_worker_group_size_count{source="bank"} 0');
});

test("a handler that asks to wait is a line of its own, and no error", () => {
  const lines: unknown[] = [];
  const errors: unknown[] = [];
  const logger = { info: (fields: object, message: string) => lines.push([fields, message]) };
  const observe = observeProcessor({
    registry: new Registry(),
    logger: { ...logger, isLevelEnabled: () => true } as never,
    logError: (...line) => void errors.push(line),
    running: () => 0,
    leading: () => false,
    sources: ["shop"],
  });
  observe({
    kind: "attempt_failed",
    key: finished.key,
    type: "order.packed",
    attempt: 4,
    code: "retry_later",
    message: "RetryLater: Not packed yet",
    final: false,
    counts: false,
  });
  expect(errors).toEqual([]);
  expect(lines).toEqual([
    [expect.objectContaining({ attempt: 4, reason: "RetryLater: Not packed yet" }), "event waits"],
  ]);
});

test("what a sender or an edited job names makes no label", async () => {
  const registry = new Registry();
  const observe = observeProcessor({ ...unlogged, registry, sources: ["shop"] });
  const key = { source: "forged", eventId: "evt_canary", generation: 0 };
  observe({
    ...finished,
    key,
    result: "failed",
    outcome: undefined,
    code: "unknown_source",
  });
  observe({
    kind: "attempt_failed",
    key: finished.key,
    type: "canary",
    attempt: 1,
    code: "handler_failed",
    message: "canary",
    final: false,
    counts: true,
  });
  const text = await registry.metrics();
  expect(text).not.toMatch(/forged|canary/);
  expect(text).toContain('millrace_worker_jobs_total{source="unknown",outcome="failed"} 1');
});
