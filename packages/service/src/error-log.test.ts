import { expect, test } from "vitest";
import { pino } from "pino";
import { createErrorLog, reasonOf } from "./error-log.ts";

test("a cause is logged once an interval, and what was left out is counted", () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  let now = 0;
  const logError = createErrorLog(logger, { nowMs: () => now });

  for (let call = 0; call < 1_000; call += 1) logError("redis", new Error("ECONNREFUSED"));
  logError("postgres", new Error("57P01"));
  now = 1_000;
  logError("redis", new Error("ECONNREFUSED"));

  expect(lines.map((line) => [line["cause"], line["suppressed"]])).toEqual([
    ["redis", 0],
    ["postgres", 0],
    ["redis", 999],
  ]);
});

test("a reason names the code, and the first error of an aggregate", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  expect(reasonOf(refused)).toBe("ECONNREFUSED: connect ECONNREFUSED");
  expect(reasonOf(new AggregateError([refused]))).toBe("connect ECONNREFUSED");
  expect(reasonOf("x".repeat(1_000))).toHaveLength(500);
});

test("a reason says its code once, and leaves out who asked for a module", () => {
  const missing = Object.assign(new Error("ENOENT: no such file"), { code: "ENOENT" });
  expect(reasonOf(missing)).toBe("ENOENT: no such file");
  const unknown = Object.assign(new Error("Cannot find module 'x'\nRequire stack:\n- /a/b.ts"), {
    code: "MODULE_NOT_FOUND",
  });
  expect(reasonOf(unknown)).toBe("MODULE_NOT_FOUND: Cannot find module 'x'");
});
