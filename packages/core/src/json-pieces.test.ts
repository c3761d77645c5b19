import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonBytesAt, jsonPieces } from "./payload.ts";

const texts = (json: string) =>
  jsonPieces(Buffer.from(json)).map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]);

test.each([
  ["[]", []],
  ["{ }", []],
  ["5", []],
  ['"[1]"', []],
  ["null", []],
  ["[1,2]", ["1", "2"]],
  ['[ 1.50 ,\r\n {"a" : [1, 2]} ]\r\n', ["1.50", '{"a" : [1, 2]}']],
  ['\ufeff["a,b]", "\\"", "\\\\", "é\u{1f600}"]', ['"a,b]"', '"\\""', '"\\\\"', '"é\u{1f600}"']],
])("the pieces of %j keep their bytes", (json, expected) => {
  expect(texts(json)).toEqual(expected.map((text) => [undefined, text]));
});

test("members have their names, escapes read", () => {
  expect(texts('{"a":1, "\\u0062" : "x:y,}" ,"":[]}')).toEqual([
    ["a", "1"],
    ["b", '"x:y,}"'],
    ["", "[]"],
  ]);
});

test("of a name that comes twice the last counts, as in JSON.parse", () => {
  const json = Buffer.from('{"a":{"b":1},"a":{"b":2,"\\u0062":3}}');
  expect(Buffer.from(jsonBytesAt(json, ["a", "b"]) ?? []).toString()).toBe("3");
  expect(jsonBytesAt(json, ["a", "c"])).toBeUndefined();
  expect(jsonBytesAt(json, ["a", "b", "c"])).toBeUndefined();
  expect(jsonBytesAt(json, ["0"])).toBeUndefined();
});

test("a place in an array is a step of a path", () => {
  const json = Buffer.from('[{"a":[0,{"b":"x"}]}]');
  expect(Buffer.from(jsonBytesAt(json, ["0", "a", "1", "b"]) ?? []).toString()).toBe('"x"');
  expect(jsonBytesAt(json, ["1"])).toBeUndefined();
});

test("pieces of any JSON, with any space, read as JSON.parse reads the whole", () => {
  const spaces = fc.constantFrom(0, 2, "\t", "  \n");
  fc.assert(
    fc.property(
      fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
      spaces,
      (value, space) => {
        const pieces = jsonPieces(Buffer.from(JSON.stringify(value, undefined, space)));
        const parsed = JSON.parse(JSON.stringify(value));
        const values = pieces.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()));
        expect(values).toEqual(Object.values(parsed));
        if (!Array.isArray(value))
          expect(pieces.map(({ name }) => name)).toEqual(Object.keys(parsed));
      },
    ),
    { numRuns: 300 },
  );
});
