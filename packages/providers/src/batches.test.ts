import type { Identification } from "@millrace/core";
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { adyen, meta, sendgrid } from "./index.ts";
import { deliveryOf } from "./testing/sign-delivery.ts";

const META = meta().provider;

function eventsOf(found: Identification) {
  if (!found.ok) return found.code;
  return found.events.map(({ eventId, type, body }) => ({
    eventId,
    type,
    body: body && Buffer.from(body).toString(),
  }));
}

const sent = (body: string) => eventsOf(sendgrid().provider.identify(deliveryOf({}, body)));
const posted = (body: string) => eventsOf(META.identify(deliveryOf({}, body)));

test("each event of SendGrid's array is one, with the bytes that it came in", () => {
  const body =
    '[{"sg_event_id":"a","event":"open", "n":1.0},\r\n{"event":"click","sg_event_id":"b","url":"x\\u0026,]"}]\r\n';
  expect(sent(body)).toEqual([
    { eventId: "a", type: "open", body: '{"sg_event_id":"a","event":"open", "n":1.0}' },
    {
      eventId: "b",
      type: "click",
      body: '{"event":"click","sg_event_id":"b","url":"x\\u0026,]"}',
    },
  ]);
});

test("an event of SendGrid's without an id is known by its bytes", () => {
  const [one, other, again] = sent(
    '[{"event":"a","t":1},{"event":"a","t":2},{"event":"a","t":1}]',
  ) as {
    eventId: string;
  }[];
  expect(one?.eventId).toMatch(/^[0-9a-f]{64}$/);
  expect(one?.eventId).not.toBe(other?.eventId);
  expect(one?.eventId).toBe(again?.eventId);
});

test.each([
  ["an empty array", "[]", []],
  ["an object", '{"sg_event_id":"a"}', "invalid_body"],
  ["text", '"[]"', "invalid_body"],
  ["no JSON", "[1", "invalid_body"],
  ["an id that is none", '[{"sg_event_id":{}}]', "invalid_event_id"],
])("a body of SendGrid's that is %s", (_title, body, expected) => {
  expect(sent(body)).toEqual(expected);
});

test("each update of Meta's is an event, in the envelope that it came in", () => {
  const body = `{"object":"page","entry":[
    {"id":"1","time":10,"changes":[{"field":"feed","value":{"n":1.50}},{"field":"ratings","value":"\\u00e4"}]},
    {"id":"2","time":11,"messaging":[{"sender":{"id":"9"},"recipient":{"id":"2"},"timestamp":5,"read":{"watermark":5}}]},
    {"id":"3","time":12,"changed_fields":["name"]}]}`;
  const events = posted(body) as { type: string; body: string }[];
  expect(events.map(({ type, body: text }) => [type, text])).toEqual([
    [
      "page.feed",
      '{"object":"page","entry":[{"id":"1","time":10,"changes":[{"field":"feed","value":{"n":1.50}}]}]}',
    ],
    [
      "page.ratings",
      '{"object":"page","entry":[{"id":"1","time":10,"changes":[{"field":"ratings","value":"\\u00e4"}]}]}',
    ],
    [
      "page.read",
      '{"object":"page","entry":[{"id":"2","time":11,"messaging":[{"sender":{"id":"9"},"recipient":{"id":"2"},"timestamp":5,"read":{"watermark":5}}]}]}',
    ],
    ["page", '{"object":"page","entry":[{"id":"3","time":12,"changed_fields":["name"]}]}'],
  ]);
});

test("two equal changes at two times are two events, and one that is sent again is the same", () => {
  const change = (time: number) =>
    `{"object":"user","entry":[{"id":"1","time":${time},"changes":[{"field":"about"}]}]}`;
  expect(posted(change(1))).toEqual(posted(change(1)));
  expect(posted(change(1))).not.toEqual(posted(change(2)));
});

test("a message of Meta's that comes again in another batch is the same event", () => {
  const message = '{"sender":{"id":"9"},"timestamp":5,"message":{"mid":"m_1","text":"a"}}';
  const other = '{"sender":{"id":"9"},"timestamp":6,"message":{"mid":"m_2","text":"b"}}';
  const batch = (time: number, ...messages: string[]) =>
    posted(
      `{"object":"page","entry":[{"id":"1","time":${time},"messaging":[${messages.join()}]}]}`,
    ) as {
      eventId: string;
    }[];
  const [first] = batch(10, message);
  const [, second] = batch(20, other, message);
  expect(first?.eventId).toBe(second?.eventId);
});

test("a delivery that would grow when it is taken apart is one event", () => {
  const entry = (updates: number, beside: string) => {
    const changes = Array.from({ length: updates }, (_, n) => `{"field":"f","value":${n}}`);
    return `{"object":"page","entry":[{"id":"1","x":"${beside}","changes":[${changes.join()}]}]}`;
  };
  expect(posted(entry(1_000, "y"))).toHaveLength(1_000);
  expect(posted(entry(1_001, "y"))).toHaveLength(1);
  expect(posted(entry(2, "y".repeat(5_000)))).toHaveLength(1);
  expect(sent(`[${Array.from({ length: 10_001 }, () => "1").join()}]`)).toBe("invalid_body");
});

test.each([
  ["no JSON", "{", "invalid_body"],
  ["no entries", '{"object":"page","entry":[]}', [{ type: "page" }]],
  ["entries that are no list", '{"object":"page","entry":5}', [{ type: "page" }]],
  ["entries of another shape", '{"object":"page","entry":[5,null]}', [{}, {}]],
  ["lists that are none", '{"object":"page","entry":[{"changes":5}]}', [{ type: "page" }]],
])("a body of Meta's with %s is not thrown at", (_title, body, expected) => {
  expect(posted(body)).toMatchObject(expected as object);
});

test("an item of Adyen's has one id however it is written, and its fields cannot be cut otherwise", async () => {
  const key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
  const { provider } = adyen();
  const sign = (text: string) =>
    createHmac("sha256", Buffer.from(key, "hex")).update(text).digest("base64");
  const take = async (psp: string, rest: object, hmacSignature: string) => {
    const item = JSON.stringify({ ...rest, additionalData: { hmacSignature } });
    const body = `{"notificationItems":[{"NotificationRequestItem":{"pspReference":${psp},${item.slice(1)}}]}`;
    const delivery = deliveryOf({}, body);
    const verified = await provider.createVerifier([key]).verify(delivery);
    return verified.ok ? provider.identify(delivery) : verified.code;
  };
  const signed = sign("79::A:R:1:10:EUR:AUTHORISATION:true");
  const honest = {
    ...{ merchantAccountCode: "A", merchantReference: "R:1", eventCode: "AUTHORISATION" },
    ...{ amount: { value: 10, currency: "EUR" }, success: "true" },
  };
  const events = [{ eventId: "79.AUTHORISATION.true", type: "AUTHORISATION" }];
  for (const psp of ['"79"', "79", '"\\u0037\\u0039"']) {
    expect(await take(psp, honest, signed)).toMatchObject({ events });
  }
  const shifted = {
    ...{ merchantAccountCode: "A", merchantReference: "R", eventCode: "EUR" },
    ...{ amount: { value: 1, currency: "10" }, success: "AUTHORISATION:true" },
  };
  expect(await take('"79"', shifted, signed)).toBe("invalid_signature");
  expect(await take('"79"', { ...honest, success: "false" }, signed)).toBe("invalid_signature");
  const bad = deliveryOf({}, '{"notificationItems":[]}');
  expect(await provider.createVerifier([key]).verify(bad)).toMatchObject({ ok: false });
  const strange = deliveryOf({}, '{"notificationItems":{"a b":{"NotificationRequestItem":{}}}}');
  expect(await provider.createVerifier([key]).verify(strange)).toMatchObject({
    code: "invalid_signature",
  });
  for (const secret of ["no hexadecimal key", "00"]) {
    const none = await provider.createVerifier([`${secret} at all`]).verify(bad);
    expect(none).toMatchObject({ ok: false });
  }
});
