import { parseConfig, type SourceOptions } from "@millrace/core";
import { expect, test } from "vitest";
import { createQueueLimits } from "./pressure.ts";

function isFull(
  options: SourceOptions,
  reading: { memoryShare?: number; depth?: number; oldestAgeMs?: number },
): boolean {
  const provider = { createVerifier: () => {} } as never;
  const { sources } = parseConfig({ sources: { plain: { provider, options } } });
  const limits = createQueueLimits(
    {
      pressure: () => ({
        memoryShare: reading.memoryShare,
        of: () => ({ depth: reading.depth ?? 0, oldestAgeMs: reading.oldestAgeMs }),
      }),
    },
    sources,
  );
  return limits("plain");
}

test("a queue is full at its depth", () => {
  expect(isFull({ queueDepthMax: 10 }, { depth: 9 })).toBe(false);
  expect(isFull({ queueDepthMax: 10 }, { depth: 10 })).toBe(true);
  expect(isFull({}, { depth: 99_999 })).toBe(false);
  expect(isFull({}, { depth: 100_000 })).toBe(true);
});

test("a queue is full when its oldest job has waited too long, where that is limited", () => {
  expect(isFull({ queueAgeMsMax: 1_000 }, { oldestAgeMs: 1_000 })).toBe(false);
  expect(isFull({ queueAgeMsMax: 1_000 }, { oldestAgeMs: 1_001 })).toBe(true);
  expect(isFull({ queueAgeMsMax: 1_000 }, {})).toBe(false);
  expect(isFull({}, { oldestAgeMs: 1e9 })).toBe(false);
});

test("every queue is full when the server has used more than four fifths of its memory", () => {
  expect(isFull({}, { memoryShare: 0.8 })).toBe(false);
  expect(isFull({}, { memoryShare: 0.81 })).toBe(true);
});
