import { bodyHash, messageDigest, type Delivery, type SourceDefinition } from "@millrace/core";
import { expect, test } from "vitest";
import { github, gitlab, hmac, linear, shopify, twilio } from "./index.ts";
import { EVERY_SOURCE } from "./testing/every-source.ts";
import { deliveryOf, signedDelivery, verifyNow } from "./testing/sign-delivery.ts";

const SECRET = "0123456789abcdef0123456789abcdef";

/** The digest of what a delivery's signature covers. */
function digestOf({ provider }: SourceDefinition, delivery: Delivery, secret = SECRET): string {
  const verified = verifyNow(provider.createVerifier([secret]), delivery);
  if (!verified.ok) throw new Error(verified.message);
  return verified.signed === undefined ? bodyHash(delivery.body) : messageDigest(verified.signed);
}

test.each([
  ["github", github()],
  ["shopify", shopify()],
  ["gitlab", gitlab({ auth: "token" })],
  ["linear", linear()],
  ["hmac over the body", hmac({ header: "x-sig", id: "header:x-id" })],
])("the message of %s is the body, which is not hashed again", (_name, source) => {
  const delivery = signedDelivery(source, { secret: SECRET, nowMs: Date.UTC(2026, 0, 1) });
  expect(source.provider.createVerifier([SECRET]).verify(delivery)).toEqual({ ok: true });
});

test("Shopify's newer headers sign the same message", () => {
  const delivery = signedDelivery(shopify(), { secret: SECRET, type: "orders/create" });
  const newer = Object.entries(delivery.headers).map(([name, value]) => [
    name.replace(/^x-shopify/, "shopify"),
    value ?? "",
  ]);
  const other = { ...delivery, headers: Object.fromEntries(newer) as Record<string, string> };
  expect(digestOf(shopify(), other)).toBe(digestOf(shopify(), delivery));
});

test("a signed time is part of the message, and an unsigned id is not", () => {
  const source = hmac({
    header: "x-sig",
    id: "header:x-id",
    timestamp: { header: "x-time" },
    message: "v0:{ts}:{body}",
  });
  const one = signedDelivery(source, { secret: SECRET, body: "{}" });
  const renamed = { ...one, headers: { ...one.headers, "x-id": "made-up" } };
  const later = signedDelivery(source, { secret: SECRET, body: "{}", nowMs: 1_767_225_601_000 });
  expect(digestOf(source, one)).toBe(bodyHash(Buffer.from("v0:1767225600:{}")));
  expect(digestOf(source, renamed)).toBe(digestOf(source, one));
  expect(digestOf(source, later)).not.toBe(digestOf(source, one));
});

const TWILIO = twilio({ url: "https://hooks.example.com/sms" });
const FORM = "Body=Mill+%26+co&From=%2B15005550006&MessageSid=SM1";
const { headers } = signedDelivery(TWILIO, { secret: SECRET, body: FORM });

test.each([
  ["in another order", "MessageSid=SM1&From=%2B15005550006&Body=Mill+%26+co"],
  ["with other escapes", "Body=%4Dill%20%26%20co&From=%2b15005550006&MessageSid=SM1"],
  ["with empty fields between", "&Body=Mill+%26+co&&From=%2B15005550006&MessageSid=SM1&"],
  ["with a field that repeats", `${FORM}&MessageSid=SM1`],
  ["with a name that ends elsewhere", "Body=Mill+%26+co&From=%2B15005550006&MessageSi=dSM1"],
])("a form of Twilio's that was signed has one digest, also %s", (_title, body) => {
  const signed = deliveryOf(headers as Record<string, string>, FORM);
  const other = deliveryOf(headers as Record<string, string>, body);
  expect(digestOf(TWILIO, other)).toBe(digestOf(TWILIO, signed));
  expect(digestOf(TWILIO, other)).not.toBe(bodyHash(other.body));
});

test.each(Object.entries(EVERY_SOURCE).filter(([, { source }]) => !source.provider.idIsSigned))(
  "two deliveries of %s with different bodies have different digests",
  (_name, { source, bodyOf }) => {
    const nowMs = Date.UTC(2026, 0, 1);
    const secret = source.provider.generateSecret();
    const digests = ["one", "two"].map((eventId) => {
      const body = bodyOf?.(Buffer.from(eventId), nowMs);
      const request = {
        secret,
        eventId,
        nowMs,
        ...(body && { body: Buffer.from(body).toString() }),
      };
      return digestOf(source, signedDelivery(source, request), secret);
    });
    expect(digests[0]).not.toBe(digests[1]);
  },
);
