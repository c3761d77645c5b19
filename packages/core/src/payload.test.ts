import { expect, test } from "vitest";
import { parsePayload } from "./payload.ts";

const read = (body: string | Uint8Array) => parsePayload(Buffer.from(body));

test("a body is read as JSON in UTF-8", () => {
  expect(read('{"a":[1]}')).toEqual({ value: { a: [1] } });
  expect(read("null")).toEqual({ value: null });
  expect(read(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined();
  expect(read("")).toBeUndefined();
});

test("a form is read by its one payload field", () => {
  expect(read("payload=%7B%22a%22%3A%22b+c%22%7D")).toEqual({ value: { a: "b c" } });
  expect(read("token=x&payload=5")).toEqual({ value: 5 });
  for (const body of ["a=5", "payload", "payload=", "payload=5&payload=5", "payload=%zz", "%=5"]) {
    expect(read(body)).toBeUndefined();
  }
});
