import fc from "fast-check";
import { expect, test } from "vitest";
import { formatJson, textOf } from "./format-body.ts";

function linesOf(text: string) {
  const lines = formatJson(text);
  if (typeof lines === "string") throw new Error(`Cannot set it out: ${lines}`);
  return lines;
}
const formatted = (text: string) => linesOf(text).map(textOf).join("\n");

test("any JSON is set out as JSON.stringify would, and reads the same", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, "\t"), (text, space) => {
      const value: unknown = JSON.parse(text);
      expect(formatted(JSON.stringify(value, null, space))).toBe(JSON.stringify(value, null, 2));
    }),
  );
});

test("digits, order and twins are kept as they were written", () => {
  expect(formatted('{"b":12345678901234567890.10,"a":1e400,"b":-0}')).toBe(
    '{\n  "b": 12345678901234567890.10,\n  "a": 1e400,\n  "b": -0\n}',
  );
});

test("keys are told from strings, and strings keep their escapes", () => {
  const lines = linesOf(String.raw`{"a:{":"[1,\"2\"]: \\"}`);
  expect(lines[1]?.tokens).toEqual([
    { kind: "key", text: '"a:{"' },
    { kind: "mark", text: ": " },
    { kind: "string", text: String.raw`"[1,\"2\"]: \\"` },
  ]);
});

test.each(["", "not JSON", "{", "a=1&b=2", "{'a':1}"])("%j is not JSON", (text) => {
  expect(formatJson(text)).toBe("not_json");
});

test("JSON that is nested too deep for a page is not set out, however deep", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  expect(linesOf(nested(200))).toHaveLength(399);
  expect(formatJson(nested(202))).toBe("too_deep");
  expect(formatJson(nested(500_000))).toBe("too_deep");
});
