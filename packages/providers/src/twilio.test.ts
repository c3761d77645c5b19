import { createHash, createHmac } from "node:crypto";
import { parseConfig } from "@millrace/core";
import { expect, test } from "vitest";
import { square, twilio } from "./index.ts";
import { deliveryOf, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const URL_OF = "https://hooks.example.com/sms";
const source = twilio({ url: URL_OF });

const signatureOf = (text: string) =>
  createHmac("sha1", TOKEN).update(text, "utf8").digest("base64");

function delivered(signed: string, body: string, requestUrl = "/webhooks/twilio") {
  const delivery = deliveryOf({ "x-twilio-signature": signatureOf(signed) }, body);
  return { ...delivery, url: requestUrl };
}

const check = (signed: string, body: string, requestUrl?: string) =>
  verdict(source, [TOKEN], delivered(signed, body, requestUrl));

test.each([
  ["as it is", URL_OF],
  ["with the default port", "https://hooks.example.com:443/sms"],
])("a URL signed %s is accepted, whatever Host the proxy sends", (_title, signed) => {
  expect(check(`${signed}A1B2`, "B=2&A=1")).toBe("ok");
});

test.each([
  ["another host", "https://hooks.example.org/sms"],
  ["another port", "https://hooks.example.com:8443/sms"],
  ["another scheme", "http://hooks.example.com/sms"],
  ["the path on this side of the proxy", "https://hooks.example.com/webhooks/twilio"],
])("a URL signed with %s is refused", (_title, signed) => {
  expect(check(`${signed}A1B2`, "B=2&A=1")).toBe("invalid_signature");
});

test("the query of the delivery is signed, and not that of the config", () => {
  expect(check(`${URL_OF}?a=1&b=%2F2A1`, "A=1", "/webhooks/twilio?a=1&b=%2F2")).toBe("ok");
  expect(check(`${URL_OF}?a=1A1`, "A=1", "/webhooks/twilio?a=2")).toBe("invalid_signature");
  expect(check(`${URL_OF}A1`, "A=1", "/webhooks/twilio?a=1")).toBe("invalid_signature");
});

test("a configured port that is no default one is signed as it is", () => {
  const other = twilio({ url: "http://10.0.0.1:8080/sms" });
  const delivery = delivered("http://10.0.0.1:8080/smsA1", "A=1");
  expect(verdict(other, [TOKEN], delivery)).toBe("ok");
});

test("fields are decoded, sorted by name, and of one that repeats each value counts once", () => {
  const body = "b=2&a=z%C3%BC+%26&c&b=1&B=%2B&b=2&=e";
  expect(check(`${URL_OF}eB+azü &b1b2c`, body)).toBe("ok");
});

test.each([
  ["bytes that are no UTF-8", Buffer.from([0x41, 0x3d, 0xff])],
  ["escapes of bytes that are none", Buffer.from("A=%FF")],
  ["escapes that are none", Buffer.from("A=%zz")],
])("a form with %s is refused, for what it reads as is not one body alone", (_title, body) => {
  const replaced = `${URL_OF}A\ufffd`;
  const delivery = { ...delivered(replaced, ""), body };
  expect(verdict(source, [TOKEN], delivery)).toBe("invalid_signature");
});

test("a JSON body is covered by its hash in the signed query", () => {
  const body = '{"a":1}';
  const hash = createHash("sha256").update(body).digest("hex");
  const query = `?bodySHA256=${hash}`;
  expect(check(URL_OF + query, body, `/webhooks/twilio${query}`)).toBe("ok");
  expect(check(URL_OF + query, `${body} `, `/webhooks/twilio${query}`)).toBe("invalid_signature");
  expect(check(URL_OF, body, `/webhooks/twilio${query}`)).toBe("invalid_signature");
  expect(check(`${URL_OF}?bodySHA256=`, body, "/webhooks/twilio?bodySHA256=")).toBe(
    "invalid_signature",
  );
  const delivery = delivered(URL_OF + query, body, `/webhooks/twilio${query}`);
  expect(source.provider.identify(delivery)).toMatchObject({
    events: [{ type: "unknown", eventId: createHash("sha256").update(body).digest("hex") }],
  });
});

test.each([
  ["MessageSid=SM1&SmsStatus=received&Body=Hi", "message.received"],
  ["MessageSid=SM1&SmsStatus=sent&MessageStatus=delivered", "message.delivered"],
  ["CallSid=CA1&CallStatus=no-answer", "call.no-answer"],
  ["CallSid=CA1&CallStatus=completed&RecordingStatus=completed", "recording.completed"],
  ["EventType=onMessageAdded&MessageSid=IM1", "onMessageAdded"],
  ["CallSid=CA1", "unknown"],
])("%s is of the type %s", (body, type) => {
  expect(source.provider.identify(deliveryOf({}, body))).toMatchObject({ events: [{ type }] });
});

test("what Twilio is answered is TwiML that tells it to do nothing", () => {
  for (const answer of [source.provider.answers?.accepted, source.provider.answers?.duplicate]) {
    expect(answer).toMatchObject({
      status: 200,
      headers: { "content-type": "text/xml; charset=utf-8" },
      body: expect.stringMatching(/<Response><\/Response>$/),
    });
  }
});

test("a sample is a form that says so", () => {
  const delivery = signedDelivery(source, { secret: TOKEN, type: "message.received" });
  expect(delivery.headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/);
  expect(new URLSearchParams(Buffer.from(delivery.body).toString()).get("Body")).toBe(
    "Is the mill open & turning?",
  );
});

test.each([
  ["no URL", "hooks.example.com"],
  ["another scheme", "ftp://hooks.example.com/sms"],
  ["braces", "https://hooks.example.com/{body}"],
  ["a space", "https://hooks.example.com/a b"],
  ["a fragment", "https://hooks.example.com/a#rc=2"],
  ["an impossible port", "https://hooks.example.com:99999/"],
  ["nothing", undefined as unknown as string],
])("a url that is %s is refused with the config", (_title, url) => {
  for (const sms of [twilio({ url }), square({ url })]) {
    expect(() => parseConfig({ sources: { sms } })).toThrow(/sources\.sms\.url: (must|is)/);
  }
});

test("Twilio's url has no query, and Square's may have one", () => {
  const url = "https://hooks.example.com/a?b=1";
  expect(() => parseConfig({ sources: { sms: twilio({ url }) } })).toThrow(/must have no query/);
  expect(square({ url, attempts: 3 }).options).toEqual({ attempts: 3 });
});
