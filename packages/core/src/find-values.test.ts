import { expect, test } from "vitest";
import { sourceOptionsSchema } from "./source-schema.ts";
import { findValues, parseFind } from "./find-values.ts";

test.each([
  ["json:data.object.customer", { label: "customer", path: "data.object.customer" }],
  ["json:$.data.id", { label: "id", path: "data.id" }],
  ["buyer=json:data.items.0.sku", { label: "buyer", path: "data.items.0.sku" }],
  ["json:data.0", undefined],
  ["json:data.status", undefined],
  ["body=json:data.id", undefined],
  ["two words=json:data.id", undefined],
  ["header:x-id", undefined],
  ["data.id", undefined],
])("%s", (text, expected) => expect(parseFind(text)).toEqual(expected));

test.each([
  ['{"a":"cus_1"}', ["a: cus_1"]],
  ['{"a":42}', ["a: 42"]],
  ['{"a":12345678901234567890}', ["a: 12345678901234567890"]],
  ['{"a":1.50}', ["a: 1.50"]],
  ['{"a":true,"b":{"c":"x"}}', ["a: true", "c: x"]],
  ['{"a":"with \\"quotes\\", {} and \\\\"}', ['a: with "quotes", {} and \\']],
  [`{"a":"${"é".repeat(32)}"}`, [`a: ${"é".repeat(32)}`]],
  [`{"a":"${"é".repeat(33)}"}`, []],
  ['{"a":"","b":null}', []],
  ['{"a":"x\\u0000y","b":{"c":"\\ud800"}}', []],
  ['{"a":["x"],"b":{"c":{}}}', []],
  ["not JSON", []],
])("the values of %.60s", (body, expected) => {
  const paths = ["json:a", "json:b.c"].flatMap((text) => parseFind(text) ?? []);
  expect(findValues(paths, Buffer.from(body))).toEqual(expected);
});

test("a body that is not at hand has none", () => {
  expect(findValues([{ label: "a", path: "a" }], undefined)).toEqual([]);
});

test.each([
  [["json:data.type"], "whose name is not among"],
  [["json:a.id", "json:b.id"], "must have a name for each value"],
  [Array.from({ length: 9 }, (_, n) => `v${n}=json:a`), "8"],
])("a config with find: %j is refused", (find, message) => {
  expect(String(sourceOptionsSchema.safeParse({ find }).error)).toContain(message);
});
