import fc from "fast-check";
import { expect, test } from "vitest";
import { bodyHash, messageDigest, partDigest, signedDigest } from "./event.ts";
import { fromEnvelope, readEnvelope, stringifyEnvelope, toEnvelope } from "./envelope.ts";
import { isStorable, isStorableWithin, type IncomingEvent } from "./event.ts";
import { makeQueueKey, QueueKeys } from "./queue-keys.ts";

const keys = new QueueKeys(makeQueueKey());

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
    acceptedAtMs: fc.nat({ max: 8_640_000_000_000_000 }),
    headers: fc.dictionary(
      fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
      fc.string({ unit: "binary" }),
    ),
    unsigned: fc.boolean(),
    digest: fc.constantFrom(undefined, "d".repeat(43)),
    body: fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
    ),
  });
  fc.assert(
    fc.property(anyEvent, (parts) => {
      const whole = { ...parts, bodyHash: bodyHash(parts.body) };
      const text = JSON.stringify(toEnvelope(whole));
      expect(stringifyEnvelope(toEnvelope(whole))).toBe(text);
      const signed = stringifyEnvelope(toEnvelope(whole, { keys }));
      expect(signed).toBe(JSON.stringify(toEnvelope(whole, { keys })));
      expect(readEnvelope(JSON.parse(signed), keys).mac).toBeUndefined();
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

test("a message has one digest, however it is cut into pieces", () => {
  const whole = messageDigest([Buffer.from("v0:1700000000:{}")]);
  expect(messageDigest(["v0:1700000000:", Buffer.from("{}")])).toBe(whole);
  expect(whole).toBe(bodyHash(Buffer.from("v0:1700000000:{}")));
  expect(messageDigest(["v0:1700000001:", Buffer.from("{}")])).not.toBe(whole);
  expect(messageDigest(["\u00e4"])).toBe(bodyHash(Buffer.from([0xe4])));
});

test("events of one message have a digest each, by their index", () => {
  const digest = messageDigest(["[1,1]"]);
  const parts = [partDigest(digest, 0), partDigest(digest, 1)];
  expect(new Set([digest, ...parts]).size).toBe(3);
  expect(parts.every((part) => /^[\w-]{43}$/.test(part))).toBe(true);
});

test("where the body alone was signed, its hash is the digest", () => {
  const plain = event(Buffer.from("{}"));
  expect(signedDigest(plain)).toBe(plain.bodyHash);
  expect(signedDigest({ ...plain, digest: "d".repeat(43) })).toBe("d".repeat(43));
});

test("an identity-only envelope leaves body and headers to the ledger", () => {
  const envelope = toEnvelope(event(Buffer.from("secret body")), { identityOnly: true });
  expect(JSON.stringify(envelope)).not.toContain("secret body");
  expect(stringifyEnvelope(envelope)).toBe(JSON.stringify(envelope));
  expect(fromEnvelope(envelope)).toMatchObject({ eventId: "evt_1", headers: {}, body: undefined });
});

test.each([[null], [undefined], [5], ["x"], [{}], [[]], [{ v: 1, id: "x" }], [{ v: "1" }]])(
  "job data that is no envelope is refused: %j",
  (data) => {
    expect(() => fromEnvelope(data)).toThrow(expect.objectContaining({ code: "invalid_envelope" }));
  },
);

test.each([
  { generation: 2_147_483_648 },
  { generation: 3e9 },
  { generation: 1.5 },
  { generation: -1 },
  { generation: "1" },
  { accepted_at: -1 },
  { accepted_at: 8.64e15 + 1 },
  { accepted_at: 1e308 },
  { accepted_at: "1e999" },
  { accepted_at: null },
])("a number that no column holds is refused: %j", (edited) => {
  const data = { ...toEnvelope(event(Buffer.from("{}"))), ...edited };
  expect(() => fromEnvelope(data)).toThrow(expect.objectContaining({ code: "invalid_envelope" }));
});

test("the largest numbers that the columns hold are read, and a time with a fraction", () => {
  const data = toEnvelope(event(Buffer.from("{}")));
  expect(fromEnvelope({ ...data, generation: 2_147_483_647, accepted_at: 8.64e15 })).toMatchObject({
    generation: 2_147_483_647,
    acceptedAtMs: 8.64e15,
  });
  expect(fromEnvelope({ ...data, accepted_at: 1_700_000_000_000.25 }).acceptedAtMs).toBe(
    1_700_000_000_000.25,
  );
});

test("a later version is told apart from garbage, so that a newer worker can take it", () => {
  const later = { ...toEnvelope(event(Buffer.from("{}"))), v: 2 };
  expect(() => fromEnvelope(later)).toThrow(
    expect.objectContaining({ code: "unknown_envelope_version" }),
  );
});

const signed = (over: object = {}, options: object = {}) => ({
  ...toEnvelope(event(Buffer.from('{"a":1}')), { keys, ...options }),
  ...over,
});
const macOf = (data: unknown) => readEnvelope(data, keys).mac;

test("a build that knows no MAC reads a signed job as it reads others", () => {
  const { kid: _, mac: __, headers_hash: ___, ...before } = signed();
  expect(before).toEqual(toEnvelope(event(Buffer.from('{"a":1}'))));
  expect(fromEnvelope(signed())).toEqual(fromEnvelope(before));
});

test.each([
  ["source", { source: "other" }],
  ["id", { id: "evt_2" }],
  ["type", { type: "thing.paid" }],
  ["generation", { generation: 1 }],
  ["accepted_at", { accepted_at: 1 }],
  ["body_hash", { body_hash: bodyHash(Buffer.from("{}")) }],
  ["unsigned", { unsigned: true }],
  ["headers", { headers: {} }],
  ["headers_hash", { headers_hash: "" }],
  ["kid", { kid: "00000000" }],
  ["mac", { mac: "A".repeat(43) }],
])("a signed job with another %s has a wrong MAC", (_, over) => {
  expect(macOf(signed())).toBeUndefined();
  expect(macOf(signed(over))).toBe("wrong");
});

test.each([["kid"], ["mac"], ["headers_hash"]])("a job without %s has no MAC", (field) => {
  expect(macOf(signed({ [field]: undefined }))).toBe("missing");
});

test("a job that was stripped of body and headers keeps its MAC", () => {
  expect(macOf(signed({ headers: {}, body: undefined, body_encoding: undefined }))).toBeUndefined();
});

test("no body and no headers can be given to a signed identity", () => {
  const identity = { identityOnly: true };
  expect(macOf(signed({}, identity))).toBeUndefined();
  expect(macOf(signed({ body: '{"a":1}' }, identity))).toBe("wrong");
  expect(macOf(signed({ headers: { "x-kept": "yes" } }, identity))).toBe("wrong");
});

test("a job of another key has a wrong MAC, and without keys nothing is checked", () => {
  const others = new QueueKeys(makeQueueKey());
  expect(readEnvelope(signed(), others).mac).toBe("wrong");
  expect(readEnvelope(signed({ mac: "x" }), undefined).mac).toBeUndefined();
});
