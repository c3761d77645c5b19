import { expect, test } from "vitest";
import { overrideFields, parseOverride, type Override } from "./create-event.ts";

const set = (...texts: string[]) => texts.map((text) => parseOverride(text) as Override);

test("a field within the body is replaced, the others stay", () => {
  const body = '{"payload":{"carrier":"dhl","order_id":"o1"}}';
  expect(overrideFields(body, set("payload.carrier=none"))).toBe(
    '{"payload":{"carrier":"none","order_id":"o1"}}',
  );
});

test("a value that is JSON is put in as JSON", () => {
  expect(overrideFields("{}", set("a=5", "b=null", "c=[1]", 'd="5"', "e=x=y"))).toBe(
    '{"a":5,"b":null,"c":[1],"d":"5","e":"x=y"}',
  );
});

test("objects on the way are made", () => {
  expect(overrideFields('{"a":1}', set("a.b.c=2"))).toBe('{"a":{"b":{"c":2}}}');
});

test("a field named __proto__ is a field like any other", () => {
  expect(overrideFields("{}", set("__proto__.polluted=1"))).toBe('{"__proto__":{"polluted":1}}');
  expect({}).not.toHaveProperty("polluted");
});

test("a body that is no JSON object cannot be changed", () => {
  expect(() => overrideFields("plain", set("a=1"))).toThrow("not a JSON object");
  expect(() => overrideFields("[]", set("a=1"))).toThrow("not a JSON object");
});

test("what is not field=value is no override", () => {
  expect(parseOverride("carrier")).toBeUndefined();
  expect(parseOverride("=none")).toBeUndefined();
});
