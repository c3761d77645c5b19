import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { registerQueueGauges } from "./observe-intake.ts";

test("the gauges show the queue as it is when they are read", async () => {
  const registry = new Registry();
  let waiting = { depth: 0, oldestAgeMs: undefined as number | undefined };
  let memoryShare: number | undefined;
  let risk: "redis_disk_slow" | undefined;
  const pressure = () => ({ memoryShare, risk, of: () => waiting });
  registerQueueGauges(registry, { sources: ["stripe"], pressure });
  const lines = async () =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith("millrace_"));

  expect(await lines()).toEqual([
    "millrace_ingress_queue_memory_ratio 0",
    'millrace_ingress_queue_at_risk{reason="redis_disk_slow"} 0',
    'millrace_ingress_queue_at_risk{reason="redis_no_replica"} 0',
    'millrace_ingress_queue_depth{source="stripe"} 0',
    'millrace_ingress_queue_oldest_seconds{source="stripe"} 0',
  ]);
  waiting = { depth: 7, oldestAgeMs: 2_500 };
  memoryShare = 0.25;
  risk = "redis_disk_slow";
  expect(await lines()).toEqual([
    "millrace_ingress_queue_memory_ratio 0.25",
    'millrace_ingress_queue_at_risk{reason="redis_disk_slow"} 1',
    'millrace_ingress_queue_at_risk{reason="redis_no_replica"} 0',
    'millrace_ingress_queue_depth{source="stripe"} 7',
    'millrace_ingress_queue_oldest_seconds{source="stripe"} 2.5',
  ]);
});
