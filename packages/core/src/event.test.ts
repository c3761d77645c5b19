import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bodyHash,
  fromEnvelope,
  isStorable,
  isStorableWithin,
  toEnvelope,
  toEnvelopeText,
  type IncomingEvent,
} from "./event.ts";

test.each([["a"], ["é|*{x}\n:../\u202e"], ["\u{1f600}"], ["\ud83d\ude00"]])(
  "%j is storable",
  (text) => {
    expect(isStorable(text)).toBe(true);
    expect(isStorableWithin(text, 100)).toBe(true);
  },
);

test.each([["a\0"], ["\ud800"], ["\ude00\ud83d"]])("%j is not storable", (text) => {
  expect(isStorable(text)).toBe(false);
  expect(isStorableWithin(text, 100)).toBe(false);
});

test("text is measured in bytes, and there must be some", () => {
  expect(isStorableWithin("", 100)).toBe(false);
  expect(isStorableWithin("é".repeat(50), 100)).toBe(true);
  expect(isStorableWithin("é".repeat(51), 100)).toBe(false);
});

function event(body: Uint8Array): IncomingEvent {
  return {
    source: "acme",
    eventId: "evt_1",
    generation: 0,
    type: "thing.happened",
    acceptedAtMs: 1_700_000_000_000,
    bodyHash: bodyHash(body),
    headers: { "x-kept": "yes" },
    unsigned: false,
    body,
  };
}

test.each([
  ["plain JSON", Buffer.from('{"a":1}')],
  ["a NUL and a lone surrogate's bytes", Buffer.from([0x22, 0x00, 0xed, 0xa0, 0x80, 0x22])],
  ["bytes that are no UTF-8", Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ["a view into a larger buffer", Buffer.from("xxhelloxx").subarray(2, 7)],
])("a body survives the way through JSON byte for byte: %s", (_title, body) => {
  const back = fromEnvelope(JSON.parse(JSON.stringify(toEnvelope(event(body)))));
  expect(Buffer.from(back.body ?? []).equals(body)).toBe(true);
  expect(back.bodyHash).toBe(bodyHash(body));
});

test("whatever an event holds survives the way through JSON", () => {
  const anyEvent = fc.record({
    source: fc.string({ unit: "binary", minLength: 1 }),
    eventId: fc.string({ unit: "binary", minLength: 1 }),
    generation: fc.nat(),
    type: fc.string({ unit: "binary", minLength: 1 }),
    acceptedAtMs: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    headers: fc.dictionary(
      fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
      fc.string({ unit: "binary" }),
    ),
    unsigned: fc.boolean(),
    body: fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
    ),
  });
  fc.assert(
    fc.property(anyEvent, (parts) => {
      const whole = { ...parts, bodyHash: bodyHash(parts.body) };
      const text = JSON.stringify(toEnvelope(whole));
      expect(toEnvelopeText(whole)).toBe(text);
      const back = fromEnvelope(JSON.parse(text));
      expect(Buffer.from(back.body ?? []).equals(whole.body)).toBe(true);
      expect({ ...back, headers: { ...back.headers }, body: undefined }).toEqual({
        ...whole,
        // Of no prototype, as fast-check makes it.
        headers: { ...whole.headers },
        body: undefined,
      });
    }),
  );
});

test("an identity-only envelope leaves body and headers to the ledger", () => {
  const envelope = toEnvelope(event(Buffer.from("secret body")), { identityOnly: true });
  expect(JSON.stringify(envelope)).not.toContain("secret body");
  expect(toEnvelopeText(event(Buffer.from("secret body")), { identityOnly: true })).toBe(
    JSON.stringify(envelope),
  );
  expect(fromEnvelope(envelope)).toMatchObject({ eventId: "evt_1", headers: {}, body: undefined });
});

test.each([[null], [undefined], [5], ["x"], [{}], [[]], [{ v: 1, id: "x" }], [{ v: "1" }]])(
  "job data that is no envelope is refused: %j",
  (data) => {
    expect(() => fromEnvelope(data)).toThrow(expect.objectContaining({ code: "invalid_envelope" }));
  },
);

test("a later version is told apart from garbage, so that a newer worker can take it", () => {
  const later = { ...toEnvelope(event(Buffer.from("{}"))), v: 2 };
  expect(() => fromEnvelope(later)).toThrow(
    expect.objectContaining({ code: "unknown_envelope_version" }),
  );
});
