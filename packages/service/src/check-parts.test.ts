import { MillraceError } from "@millrace/core";
import { expect, test } from "vitest";
import { checkParts } from "./check-parts.ts";

test("a process is ready when every part answers", async () => {
  const readiness = await checkParts({ queue: async () => 1, ledger: async () => undefined });
  expect(readiness).toEqual({ ready: true, parts: { queue: "ok", ledger: "ok" } });
});

test("a part that fails or hangs is named without an address, and the others are asked too", async () => {
  const unreachable = new MillraceError("redis_unreachable", "connect ECONNREFUSED 10.1.2.3:6379");
  const refused = new Error("connect ECONNREFUSED 10.1.2.3:5432");
  const failures = new Map<string, unknown>();
  const readiness = await checkParts(
    {
      queue: () => Promise.reject(unreachable),
      postgres: () => Promise.reject(refused),
      ledger: () => new Promise(() => {}),
      workers: async () => true,
    },
    { timeoutMs: 20, onFailure: (part, error) => failures.set(part, error) },
  );
  expect(readiness).toEqual({
    ready: false,
    parts: {
      queue: "redis_unreachable",
      postgres: "unavailable",
      ledger: "no answer within 20 ms",
      workers: "ok",
    },
  });
  // The log is told the rest.
  expect(failures).toEqual(
    new Map([
      ["queue", unreachable],
      ["postgres", refused],
      ["ledger", new Error("no answer within 20 ms")],
    ]),
  );
});
