import type { DeliveryHead, SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import {
  firstOf,
  joined,
  textToHeader,
  type DeliveryReader,
  type Found,
  type Locator,
} from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomText } from "./random-text.ts";
import { SAMPLE_SHOP, shopifySamples } from "./samples/shopify-samples.ts";
import { eitherScheme, type Scheme, signatureScheme } from "./signature/signature-scheme.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { SHOPIFY_TYPES } from "./types/shopify-types.ts";

/**
 * Shopify: `X-Shopify-Hmac-Sha256: <base64>`, HMAC-SHA256 over the body alone, in newer deliveries
 * without the `X-`. One action at a shop fires several topics with one event id, so the identity is
 * shop, topic and event id; they stand in headers that the signature does not cover, and are marked
 * unsigned.
 *
 * Source: https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates and shopify-api's
 * validate.js.
 */
const provider = defineProvider({
  name: "shopify",
  scheme: eitherScheme({
    first: schemeOf("x-shopify-hmac-sha256"),
    second: schemeOf("shopify-hmac-sha256"),
    isSecond: isNewer,
  }),
  identify: identifyOne({
    id: joined("|", named("shop-domain"), topicOf, firstOf(named("event-id"), named("webhook-id"))),
    type: topicOf,
  }),
  idIsSigned: false,
  repeatsDays: 1,
  types: SHOPIFY_TYPES,
  keptHeaders: [
    "content-type",
    ...["shopify-action", "shopify-resource-id"],
    ...["topic", "shop-domain", "event-id", "webhook-id", "api-version", "triggered-at"].flatMap(
      (name) => [`x-shopify-${name}`, `shopify-${name}`],
    ),
  ],
  samples: shopifySamples,
  generateSecret: randomText("shpss_", 16, "hex"),
  identityHeaders: ({ eventId, type, nowMs }) => ({
    "x-shopify-topic": textToHeader(type),
    "x-shopify-shop-domain": SAMPLE_SHOP,
    "x-shopify-event-id": textToHeader(eventId),
    "x-shopify-api-version": "2025-01",
    "x-shopify-triggered-at": new Date(nowMs).toISOString(),
  }),
});

/**
 * Events of Shopify. Identity: shop, topic and event id, joined with `|`; type: the topic. Where
 * a newer delivery names the action apart, it stands behind the topic: `products/update`.
 */
export function shopify<Type extends string = never>(
  options: SourceOptions<Type> = {},
): SourceDefinition<(typeof SHOPIFY_TYPES)[number] | NoInfer<Type>, never> {
  return { provider, options };
}

function schemeOf(header: string): Scheme {
  return signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "base64", keys: keysIn("utf8") }),
    format: plainSignature(),
    header,
    message: "{body}",
  });
}

function isNewer({ headers }: DeliveryHead): boolean {
  return (
    headers["x-shopify-hmac-sha256"] === undefined && headers["shopify-hmac-sha256"] !== undefined
  );
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
