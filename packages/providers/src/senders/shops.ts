import type { DeliveryHead } from "@millrace/core";
import { defineProvider } from "../define-provider.ts";
import { textToHeader } from "../identity/delivery-reader.ts";
import {
  type DeliveryReader,
  digest,
  type Found,
  joined,
  locate,
  type Locator,
} from "../identity/locations.ts";
import samples from "../samples/shopify.json" with { type: "json" };
import { signature } from "../signature/signature.ts";
import { SHOPIFY_TYPES } from "./event-types.ts";

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
  samples,
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
