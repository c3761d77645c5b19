import { expect, test } from "vitest";
import { parsePayload, shownPayload, stringifyJson, textAt } from "./payload.ts";

const read = (body: string | Uint8Array) => parsePayload(Buffer.from(body));

test("a body is read as JSON in UTF-8", () => {
  expect(read('{"a":[1]}')).toMatchObject({ value: { a: [1] } });
  expect(read("null")).toMatchObject({ value: null });
  expect(read(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
  expect(read("")).toBeUndefined();
});

test("a form is read by its one payload field", () => {
  expect(read("payload=%7B%22a%22%3A%22b+c%22%7D")).toMatchObject({ value: { a: "b c" } });
  expect(read("token=x&payload=5")).toMatchObject({ value: 5 });
  for (const body of ["a=5", "payload", "payload=", "payload=5&payload=5", "payload=%zz", "%=5"]) {
    expect(read(body)).toBeUndefined();
  }
});

const nested = (levels: number, open = "[", close = "]") =>
  Buffer.from(open.repeat(levels) + close.repeat(levels));

test("a payload is shown, up to where it could not be written out again", () => {
  expect(shownPayload(Buffer.from('{"a":[1]}'))).toEqual({ text: '{"a":[1]}' });
  expect(shownPayload(Buffer.from("no JSON"))).toBeNull();
  expect(shownPayload(nested(1_000))?.text).toHaveLength(2_000);
  for (const levels of [1_002, 500_000]) expect(shownPayload(nested(levels))).toBeNull();
  const form = Buffer.from(`payload=${"%5B".repeat(9_000)}${"%5D".repeat(9_000)}`);
  expect(shownPayload(form)).toBeNull();
});

test("a payload of 500,000 levels is read for a handler", () => {
  expect(parsePayload(nested(500_000))?.value).toBeInstanceOf(Array);
});

const LARGE =
  '{"id":820982911946154508123,"price":1.10,"a":[{"b":"x\\u00e9"}],"n":null,"id2":1,"id2":2}';

test("numbers keep their digits: as text by a path, and in JSON that a body is put into", () => {
  expect(textAt(LARGE, "id")).toBe("820982911946154508123");
  expect(textAt(LARGE, "price")).toBe("1.10");
  expect(textAt(LARGE, "a.0.b")).toBe("xé");
  expect(textAt(LARGE, "a.0")).toBe('{"b":"x\\u00e9"}');
  expect(textAt(LARGE, "id2")).toBe("2");
  for (const path of ["n", "none", "a.1", "constructor"])
    expect(textAt(LARGE, path)).toBeUndefined();
  const shown = stringifyJson({ payload: shownPayload(Buffer.from(LARGE)), x: ["y"] });
  expect(shown).toBe(`{"payload":${LARGE},"x":["y"]}`);
});
