import { afterEach, expect, test } from "vitest";
import { openTracing } from "./tracing.ts";

const REGISTERED = Symbol.for("opentelemetry.js.api.1");
const registered = globalThis as { [REGISTERED]?: unknown };

afterEach(() => {
  delete registered[REGISTERED];
});

async function open() {
  const warnings: string[] = [];
  const tracing = await openTracing((message) => warnings.push(message));
  return { tracing, warnings };
}

test("a process without an SDK makes no spans, and does not say so", async () => {
  expect(await open()).toEqual({ tracing: undefined, warnings: [] });
});

test("a process whose SDK uses an earlier version of the API says which to install", async () => {
  registered[REGISTERED] = { version: "1.3.0", trace: { getTracer: () => ({}) } };
  expect(await open()).toEqual({
    tracing: undefined,
    warnings: ['No spans are made: run "npm install @opentelemetry/api@1.3.0"'],
  });
});
