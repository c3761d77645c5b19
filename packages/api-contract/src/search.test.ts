import { describe, expect, test } from "vitest";
import { parseSearch } from "./search.ts";

const NONE = { filter: {}, values: [], words: [], body: [] };
const LABELS = ["customer", "order"];

test.each([
  ["", {}],
  ["  evt_1  ", { words: ["evt_1"] }],
  ["evt_1 cus_2", { words: ["evt_1", "cus_2"] }],
  ['"two words" "a:b" "say \\"so\\""', { words: ["two words", "a:b", 'say "so"'] }],
  ["source:stripe type:invoice.*", { filter: { source: "stripe", type: "invoice.*" } }],
  ["status:failed outcome:handled", { filter: { status: "failed", outcome: "handled" } }],
  ['error:"no such customer"', { filter: { error: "no such customer" } }],
  ["since:1h until:2026-11-21T10:00Z", { filter: { since: "1h", until: "2026-11-21T10:00Z" } }],
  ["customer:cus_1 order:a:b", { values: ["customer: cus_1", "order: a:b"] }],
  ['customer:"Ada L."', { values: ["customer: Ada L."] }],
  ['body:ord_1 body:"a b"', { body: ["ord_1", "a b"] }],
  ["1:2 -x:y", { words: ["1:2", "-x:y"] }],
])("%s", (text, expected) => {
  expect(parseSearch(text, LABELS)).toEqual({ ...NONE, ...expected });
});

test("without the names of values, any name may be one", () => {
  expect(parseSearch("plan:pro")).toEqual({ ...NONE, values: ["plan: pro"] });
});

describe("an error names the word that is wrong", () => {
  test.each([
    ["evt_1 sorce:stripe", /"sorce:stripe": `sorce` is not among source, .*, customer, order/],
    ["source:a source:b", /"source:b": `source:` is there twice/],
    ["evt_1 customer:", /"customer:": nothing is asked for/],
    ['evt_1 ""', /nothing is asked for/],
    ['evt_1 "two words', /"\\"two words": its quote is not closed/],
    ['body:"two words', /its quote is not closed/],
    ['5"', /its quote is not closed/],
    ['body:"a"b', /its quote is not closed/],
  ])("%s", (text, message) => {
    expect(() => parseSearch(text, LABELS)).toThrow(message);
  });
});
