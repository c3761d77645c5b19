import { expect, test } from "vitest";
import { deliveryOf } from "../testing/sign-delivery.ts";
import { createIdentify } from "./identify.ts";

const createFrom = (id: string, type: string, typeIsOptional: boolean) =>
  createIdentify({ id, type, typeIsOptional });
const fromBody = createFrom("json:id", "json:event.type", true);
const fromHeader = createFrom("header:x-id", "header:x-type", false);

function idOf(body: string | Uint8Array): string {
  const found = fromBody(deliveryOf({}, body));
  if (!found.ok) return found.code;
  return found.events[0]?.eventId ?? "none";
}

test.each([
  ['{"id":"evt_1"}', "evt_1"],
  ['{"id":5}', "5"],
  ['{"id":"5"}', "5"],
  ['{"id":"-5"}', "-5"],
  ['{"id":"0:1"}', "0:1"],
  ['{"id":" "}', " "],
  ['{"id":"e\\u0301"}', "e\u0301"],
  ['{"id":"é"}', "é"],
  ['{"id":"a","id":"b"}', "b"],
  [`{"id":"${"x".repeat(1_024)}"}`, "x".repeat(1_024)],
  [`{"id":"${"x".repeat(1_025)}"}`, "invalid_event_id"],
  [`{"id":"${"é".repeat(513)}"}`, "invalid_event_id"],
  ['{"id":""}', "invalid_event_id"],
  ["{}", "invalid_event_id"],
  ['{"id":null}', "invalid_event_id"],
  ['{"id":true}', "invalid_event_id"],
  ['{"id":[1]}', "invalid_event_id"],
  ['{"id":{}}', "invalid_event_id"],
  ['{"id":1.5}', "invalid_event_id"],
  ['{"id":1e400}', "invalid_event_id"],
  ['{"id":8202522731445525542}', "8202522731445525542"],
  ['{"id":-123456789012345678901234567890}', "-123456789012345678901234567890"],
  ['{"id":1.0}', "1"],
  ['{"id":1e30}', "invalid_event_id"],
  ['{"id":"a\\u0000b"}', "invalid_event_id"],
  ['{"id":"\\ud800"}', "invalid_event_id"],
  ['{"id":"\\udc00"}', "invalid_event_id"],
  ["null", "invalid_event_id"],
  ["[]", "invalid_event_id"],
  ['"x"', "invalid_event_id"],
  ["5", "invalid_event_id"],
  ["true", "invalid_event_id"],
  ['\ufeff{"id":"a"}', "a"],
  ["{", "invalid_body"],
  ['{"id":"a"} x', "invalid_body"],
  ["[".repeat(40_000), "invalid_body"],
])("the id of %.60s is %.40s", (body, expected) => {
  expect(idOf(body)).toBe(expected);
});

test("bytes that are no UTF-8 are taken beside the id, and refused within it", () => {
  const beside = Buffer.concat([
    Buffer.from('{"id":"a","note":"'),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  const within = Buffer.concat([Buffer.from('{"id":"a'), Buffer.from([0xff]), Buffer.from('"}')]);
  expect(idOf(beside)).toBe("a");
  expect(idOf(within)).toBe("invalid_event_id");
});

test("names of Object.prototype are no properties of a body", () => {
  for (const path of ["constructor.name", "__proto__.x", "toString.name"]) {
    const identify = createFrom(`json:${path}`, "json:t", true);
    expect(identify(deliveryOf({}, "{}"))).toMatchObject({ code: "invalid_event_id" });
  }
  for (const path of ["constructor", "__proto__", "toString"]) {
    const identify = createFrom("json:id", `json:${path}`, true);
    expect(identify(deliveryOf({}, '{"id":"a"}'))).toMatchObject({ events: [{ type: "unknown" }] });
  }
});

test("a type is nested, optional where the sender need not name one, and checked like an id", () => {
  const typeOf = (body: string) => {
    const found = fromBody(deliveryOf({}, body));
    return found.ok ? found.events[0]?.type : found;
  };
  expect(typeOf('{"id":"a","event":{"type":"message"}}')).toBe("message");
  expect(typeOf('{"id":"a"}')).toBe("unknown");
  expect(typeOf(`{"id":"a","event":{"type":"${"t".repeat(257)}"}}`)).toMatchObject({
    code: "invalid_event_type",
  });
  expect(fromHeader(deliveryOf({ "x-id": "a" }, "{}"))).toMatchObject({
    code: "invalid_event_type",
  });
});

test("a header holds an id in UTF-8, or in nothing that could be mistaken for another", () => {
  const idInHeader = (value: string) => {
    const found = fromHeader(deliveryOf({ "x-id": value, "x-type": "t" }, "not json"));
    return found.ok ? found.events[0]?.eventId : "refused";
  };
  expect(idInHeader(Buffer.from("ünï").toString("latin1"))).toBe("ünï");
  expect(idInHeader("\xff")).toBe("refused");
});
