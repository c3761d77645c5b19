import type { Delivery, DeliveryHead } from "@millrace/core";
import { defineProvider, defineProviderAt } from "../define-provider.ts";
import {
  digest,
  joined,
  locate,
  readDelivery,
  textToHeader,
  type DeliveryReader,
  type Found,
  type Locator,
} from "../identity/locations.ts";
import paddleSamples from "../samples/paddle.json" with { type: "json" };
import shopifySamples from "../samples/shopify.json" with { type: "json" };
import squareSamples from "../samples/square.json" with { type: "json" };
import stripeSamples from "../samples/stripe.json" with { type: "json" };
import { hmacAlgorithm } from "../signature/signature-algorithm.ts";
import { signature, timedSignature } from "../signature/signature.ts";
import { signedUrl } from "../signature/signed-url.ts";
import { PADDLE_TYPES, SHOPIFY_TYPES, STRIPE_TYPES } from "./event-types.ts";

const ITEM = "NotificationRequestItem";
const ADYEN_FIELDS = [
  "pspReference",
  "originalReference",
  "merchantAccountCode",
  "merchantReference",
  "amount.value",
  "amount.currency",
  "eventCode",
  "success",
];

/**
 * Events of Adyen's standard webhooks. Each item carries an HMAC over eight of its fields with the
 * hexadecimal key: what else it says is signed by nobody.
 */
export const adyen = defineProvider({
  name: "adyen",
  repeatsDays: 30,
  verify: signedItems,
  authenticatedOnly: true,
  each: "notificationItems",
  id: `{json:${ITEM}.pspReference}.{json:${ITEM}.eventCode}.{json:${ITEM}.success}`,
  type: `json:${ITEM}.eventCode`,
  idIsSigned: true,
  answer: { status: 200, body: "[accepted]" },
});

const ADYEN_HMAC = hmacAlgorithm("sha256", "base64", ["hex"]);

function signedItems(request: Delivery, secret: string): boolean {
  const key = ADYEN_HMAC.prepare(secret);
  const { json, jsonNames } = readDelivery(request);
  const items = jsonNames(["notificationItems"]);
  return items.length > 0 && items.every(isSigned);

  function isSigned(index: string): boolean {
    const text = (path: string) => {
      const found = json(["notificationItems", index, ITEM, ...path.split(".")]);
      return typeof found === "string" ? "" : found.text;
    };
    const texts = ADYEN_FIELDS.map(text);
    const sent = ADYEN_HMAC.decode(text("additionalData.hmacSignature"));
    // With ":" in more than the merchant's own reference, the fields could be cut otherwise.
    const isBounded = texts.every((one, n) => n === 3 || !one.includes(":"));
    const message = [Buffer.from(texts.join(":"))];
    return isBounded && sent !== undefined && key?.accepts(message, [sent]) === true;
  }
}

/** Events of Coinbase Commerce. `id` of the body names a delivery, and `event.id` the event. */
export const coinbaseCommerce = defineProvider({
  name: "coinbase-commerce",
  repeatsDays: 3,
  verify: signature({ header: "x-cc-webhook-signature" }),
  id: "json:event.id",
  type: "json:event.type",
  idIsSigned: true,
  attemptFields: ["attempt_number", "id", "scheduled_for"],
  answer: { status: 200 },
});

/** Events of Mollie's webhooks that are signed. A payment's `webhookUrl` gets an id without one. */
export const mollie = defineProvider({
  name: "mollie",
  verify: signature({
    header: "x-mollie-signature",
    pairs: { separator: ",", signature: "sha256" },
  }),
  id: "json:id",
  type: "json:type",
  idIsSigned: true,
  answer: { status: 200 },
});

/**
 * Events of Paddle Billing. Of several `h1`, as they are sent while a secret is being changed, any
 * will do; Paddle's own SDK looks at the last. The tolerance is its five seconds, here both ways:
 * `toleranceMs` widens it where clocks are not that good.
 */
export const paddle = defineProvider({
  name: "paddle",
  verify: signature({
    header: "paddle-signature",
    pairs: { separator: ";", signature: "h1", time: "ts" },
    message: "{ts}:{body}",
    time: {},
    toleranceMs: 5_000,
  }),
  id: "json:event_id",
  type: "json:event_type",
  idIsSigned: true,
  attemptFields: ["notification_id"],
  repeatsDays: 3,
  secretPrefix: "pdl_ntfset_",
  types: PADDLE_TYPES,
  dataField: "data",
  answer: { status: 200 },
  samples: paddleSamples,
});

/** Events of Razorpay. The id stands in a header that the signature does not cover. */
export const razorpay = defineProvider({
  name: "razorpay",
  verify: signature({ header: "x-razorpay-signature" }),
  id: "header:x-razorpay-event-id",
  type: "json:event",
});

/**
 * Events of Square, signed with the registered URL. The signature key is text. The older
 * `x-square-signature` is not looked at.
 */
export const square = defineProviderAt<"data">("square", signedUrl, ({ url }) => ({
  idPrefix: "uuid",
  verify: signature({
    header: "x-square-hmacsha256-signature",
    encoding: "base64",
    message: "{url}{body}",
    url,
  }),
  id: "json:event_id",
  type: "json:type",
  idIsSigned: true,
  repeatsDays: 3,
  dataField: "data",
  keptHeaders: [
    ...["content-type", "square-environment", "square-subscription-id"],
    ...["square-retry-number", "square-retry-reason"],
  ],
  samples: squareSamples,
}));

/**
 * Events of Stripe: HMAC with the whole endpoint secret as text. Stripe's own SDK takes any time in
 * the future; here the tolerance is both ways.
 */
export const stripe = defineProvider({
  name: "stripe",
  verify: timedSignature("stripe-signature"),
  id: "json:id",
  type: "json:type",
  idIsSigned: true,
  repeatsDays: 3,
  secretPrefix: "whsec_",
  types: STRIPE_TYPES,
  dataField: "data",
  keptHeaders: [],
  samples: stripeSamples,
});

/**
 * Events of Xero, in lists, without an id. A new URL gets lists without events, some of which are
 * signed wrongly. An answer must be empty.
 */
export const xero = defineProvider({
  name: "xero",
  verify: signature({ header: "x-xero-signature", encoding: "base64" }),
  each: "events",
  id: digest("json:"),
  type: "{json:eventCategory}.{json:eventType}",
  idIsSigned: true,
  repeatsDays: 1,
  answer: { status: 200, body: "" },
});

const OLDER = signature({ header: "x-shopify-hmac-sha256", encoding: "base64" });
const NEWER = signature({ header: "shopify-hmac-sha256", encoding: "base64" });

/**
 * Events of Shopify. One action at a shop fires several topics with one event id, so the identity
 * is shop, topic and event id, joined with `|`; they stand in headers that the signature does not
 * cover, in newer deliveries without the `X-`. Type: the topic; where a newer delivery names the
 * action apart, it stands behind the topic: `products/update`.
 */
export const shopify = defineProvider({
  name: "shopify",
  idPrefix: "uuid",
  verify: [OLDER, NEWER],
  id: joined("|", named("shop-domain"), topicOf, locate([named("event-id"), named("webhook-id")])),
  type: topicOf,
  repeatsDays: 1,
  types: SHOPIFY_TYPES,
  keptHeaders: [
    ...["content-type", "shopify-action", "shopify-resource-id"],
    ...["topic", "shop-domain", "event-id", "webhook-id", "api-version", "triggered-at"].flatMap(
      (name) => [`x-shopify-${name}`, `shopify-${name}`],
    ),
  ],
  samples: shopifySamples,
  sampleHeaders: ({ eventId, type, nowMs }) => ({
    "x-shopify-topic": textToHeader(type),
    "x-shopify-shop-domain": "millrace-dev.myshopify.com",
    "x-shopify-event-id": textToHeader(eventId),
    "x-shopify-api-version": "2025-01",
    "x-shopify-triggered-at": new Date(nowMs).toISOString(),
  }),
});

function isNewer(head: DeliveryHead): boolean {
  return !OLDER.isPresent(head) && NEWER.isPresent(head);
}

function named(name: string): Locator {
  return (reader) => reader.header(`${isNewer(reader.delivery) ? "" : "x-"}shopify-${name}`);
}

function topicOf(reader: DeliveryReader): Found {
  const topic = named("topic")(reader);
  const action = isNewer(reader.delivery) ? reader.header("shopify-action") : "missing";
  if (typeof topic === "string" || action === "missing") return topic;
  if (typeof action === "string") return action;
  return topic.text.endsWith(`/${action.text}`) ? topic : { text: `${topic.text}/${action.text}` };
}

/**
 * Events of WooCommerce. A delivery's id is shared by those of one second, so that the identity is
 * the SHA-256 of the resource and of the topic. A new webhook is announced by an unsigned ping.
 */
export const woocommerce = defineProvider({
  name: "woocommerce",
  verify: signature({ header: "x-wc-webhook-signature", encoding: "base64" }),
  id: digest("json:", "header:x-wc-webhook-topic", "header:x-wc-webhook-source"),
  type: "header:x-wc-webhook-topic",
  challenge: {
    method: "POST",
    answer: ({ read }) => (/^\d+$/.test(read("form:webhook_id") ?? "") ? {} : undefined),
  },
});
