import { Paddle } from "@paddle/paddle-node-sdk";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import { createHmac } from "node:crypto";
import { Webhook } from "svix";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { gitlab, linear, meta, paddle, shopify, svix, zoom } from "./index.ts";
import { deliveryOf, NOW_MS, signedDelivery, verdict } from "./testing/sign-delivery.ts";

const WHSEC = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const SECRET = "a secret of some length";

test("what Svix's SDK signs is accepted in both forms, and it accepts what we sign", () => {
  const body = '{"type":"user.created","data":{}}';
  const signature = new Webhook(WHSEC).sign("msg_1", new Date(NOW_MS), body);
  for (const prefix of ["svix", "webhook"]) {
    const headers = {
      [`${prefix}-id`]: "msg_1",
      [`${prefix}-timestamp`]: String(NOW_MS / 1_000),
      [`${prefix}-signature`]: signature,
    };
    const delivery = deliveryOf(headers, body);
    expect(verdict(svix(), [WHSEC], delivery)).toBe("ok");
    expect(svix().provider.identify(delivery)).toMatchObject({
      events: [{ eventId: "msg_1", type: "user.created" }],
    });
  }
  const ours = signedDelivery(svix(), { secret: WHSEC, nowMs: Date.now() });
  const headers = ours.headers as Record<string, string>;
  expect(() => new Webhook(WHSEC).verify(Buffer.from(ours.body), headers)).not.toThrow();
});

test("an id in the headers of the form that was not verified is not taken", () => {
  const good = signedDelivery(svix(), { secret: WHSEC, eventId: "msg_1" });
  const headers = { ...good.headers, "webhook-id": "forged", "webhook-signature": "v1,AAAA" };
  expect(verdict(svix(), [WHSEC], { ...good, headers })).toBe("ok");
  expect(svix().provider.identify({ ...good, headers })).toMatchObject({
    events: [{ eventId: "msg_1" }],
  });
});

test("Paddle's SDK accepts what we sign, and we what it would", async () => {
  const sdk = new Paddle("unused");
  const ours = signedDelivery(paddle(), { secret: SECRET, nowMs: Date.now() });
  const text = Buffer.from(ours.body).toString();
  const header = ours.headers["paddle-signature"] ?? "";
  expect(await sdk.webhooks.isSignatureValid(text, SECRET, header)).toBe(true);
  expect(await sdk.webhooks.isSignatureValid(`${text} `, SECRET, header)).toBe(false);
});

test("while Paddle's secret is being changed any of its signatures will do, in any order", () => {
  const good = signedDelivery(paddle(), { secret: SECRET });
  const header = good.headers["paddle-signature"] ?? "";
  const other = "0".repeat(64);
  for (const value of [`${header};h1=${other}`, header.replace("h1=", `h1=${other};h1=`)]) {
    const headers = { "paddle-signature": value };
    expect(verdict(paddle(), [SECRET], { ...good, headers })).toBe("ok");
  }
});

test("Linear's SDK accepts what we sign, and looks at the body's time as we do", () => {
  const sdk = new LinearWebhookClient(SECRET);
  const nowMs = Date.now();
  const ours = signedDelivery(linear(), { secret: SECRET, nowMs });
  const signature = ours.headers["linear-signature"] ?? "";
  expect(sdk.verify(Buffer.from(ours.body), signature)).toBe(true);

  for (const body of ["{}", '{"webhookTimestamp":"soon"}', '{"webhookTimestamp":null}']) {
    const signed = createHmac("sha256", SECRET).update(body).digest("hex");
    expect(() => sdk.verify(Buffer.from(body), signed)).toThrow(/timestamp/);
    const delivery = deliveryOf({ "linear-signature": signed }, body);
    expect(verdict(linear(), [SECRET], delivery)).toBe("invalid_timestamp");
  }
});

test("GitLab's signing token is a secret of Standard Webhooks, whose library signs for it", () => {
  const body = '{"object_kind":"push"}';
  const signature = new StandardWebhook(WHSEC).sign("key-1", new Date(NOW_MS), body);
  const delivery = deliveryOf(
    {
      "webhook-id": "key-1",
      "webhook-timestamp": String(NOW_MS / 1_000),
      "webhook-signature": signature,
      "x-gitlab-token": "whatever it is",
    },
    body,
  );
  expect(verdict(gitlab(), [WHSEC], delivery)).toBe("ok");
  expect(gitlab().provider.identify(delivery)).toMatchObject({
    events: [{ eventId: "key-1", type: "push" }],
  });
});

// The SDKs of Shopify, Zoom and Meta bring whole frameworks or are not there: these are their
// pages' own lines.
test.each([
  [
    "Shopify",
    shopify(),
    (body: string) => ({ "x-shopify-hmac-sha256": digestOf(body).toString("base64") }),
  ],
  [
    "Meta",
    meta(),
    (body: string) => ({ "x-hub-signature-256": `sha256=${digestOf(body).toString("hex")}` }),
  ],
  [
    "Zoom",
    zoom(),
    (body: string) => ({
      "x-zm-request-timestamp": String(NOW_MS / 1_000),
      "x-zm-signature": `v0=${digestOf(`v0:${NOW_MS / 1_000}:${body}`).toString("hex")}`,
    }),
  ],
])("%s: what node:crypto signs is accepted", (_name, source, headersOf) => {
  const body = '{"event":"a","payload":{"ä":"\\u00e4/"}}';
  const headers = headersOf(body);
  const live = source.provider.name === "meta" ? `verify-token:${SECRET}` : SECRET;
  expect(verdict(source, [live], deliveryOf(headers, body))).toBe("ok");
  expect(verdict(source, [live], deliveryOf(headers, `${body}\n`))).toBe("invalid_signature");
});

function digestOf(text: string): Buffer {
  return createHmac("sha256", SECRET).update(text).digest();
}
