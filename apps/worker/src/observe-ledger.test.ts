import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { observeLedger } from "./observe-ledger.ts";

test("closed connections are counted by source and reason, and a source without any has none", async () => {
  const registry = new Registry();
  const logged: string[] = [];
  const observe = observeLedger({
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
