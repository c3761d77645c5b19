import { expect, test } from "vitest";
import { checkParts } from "./check-parts.ts";

test("a process is ready when every part answers", async () => {
  const readiness = await checkParts({ queue: async () => 1, ledger: async () => undefined });
  expect(readiness).toEqual({ ready: true, parts: { queue: "ok", ledger: "ok" } });
});

test("a part that fails or hangs is named, and the others are asked all the same", async () => {
  const readiness = await checkParts(
    {
      queue: () => Promise.reject(new Error("gone")),
      ledger: () => new Promise(() => {}),
      workers: async () => true,
    },
    { timeoutMs: 20 },
  );
  expect(readiness).toEqual({
    ready: false,
    parts: { queue: "gone", ledger: "no answer within 20 ms", workers: "ok" },
  });
});
