import { z } from "zod";
import { echo } from "./answers.ts";
import { defineProvider, defineProviderWith } from "./define-provider.ts";
import { digest } from "./identity/locations.ts";
import { signature } from "./signature/signature.ts";
import { signedUrl, type UrlOptions } from "./signature/signed-url.ts";

/** Events of Coinbase Commerce. `id` of the body names a delivery, and `event.id` the event. */
export const coinbaseCommerce = defineProvider({
  name: "coinbase-commerce",
  verify: signature({ header: "x-cc-webhook-signature" }),
  id: "json:event.id",
  type: "json:event.type",
  idIsSigned: true,
  attemptFields: ["attempt_number", "id", "scheduled_for"],
  answer: { status: 200 },
});

/**
 * Events of HubSpot, in arrays. `eventId` is not unique, so the identity is the SHA-256 of all that
 * a retry keeps; `attemptNumber` is not in it.
 */
export const hubspot = defineProviderWith<UrlOptions>(
  "hubspot",
  z.strictObject({ url: signedUrl }),
  ({ url }) => ({
    verify: signature({
      ...{ header: "x-hubspot-signature-v3", encoding: "base64" },
      message: "POST{url}{body}{ts}",
      url,
      time: { header: "x-hubspot-request-timestamp", unit: "ms" },
    }),
    each: "json:",
    id: digest(
      ...["json:eventId", "json:portalId", "json:subscriptionId"],
      ...["json:subscriptionType", "json:objectId", "json:occurredAt"],
    ),
    type: "json:subscriptionType",
    idIsSigned: true,
    attemptFields: ["attemptNumber"],
  }),
);

/** Events of LINE's Messaging API, in lists. */
export const line = defineProvider({
  name: "line",
  verify: signature({ header: "x-line-signature", encoding: "base64" }),
  each: "events",
  id: "json:webhookEventId",
  type: "json:type",
  idIsSigned: true,
  attemptFields: ["deliveryContext"],
  answer: { status: 200 },
});

/** Events of Okta's event hooks, with a token that covers nothing of a delivery. */
export const okta = defineProvider({
  name: "okta",
  verify: signature({ header: "authorization", algorithm: "token" }),
  each: "data.events",
  id: "json:uuid",
  type: "json:eventType",
  challenge: {
    method: "GET",
    answer({ read }) {
      const verification = echo(read("header:x-okta-verification-challenge"))?.body;
      return verification === undefined ? undefined : { body: { verification } };
    },
  },
  answer: { status: 204, type: "application/json" },
});

/** Events of Razorpay. The id stands in a header that the signature does not cover. */
export const razorpay = defineProvider({
  name: "razorpay",
  verify: signature({ header: "x-razorpay-signature" }),
  id: "header:x-razorpay-event-id",
  type: "json:event",
});

/** Events of Twitch's EventSub. The challenge of a new subscription is signed like an event. */
export const twitch = defineProvider({
  name: "twitch",
  verify: signature({
    ...{ header: "twitch-eventsub-message-signature", prefix: "sha256=" },
    message: "{header:twitch-eventsub-message-id}{ts}{body}",
    time: { header: "twitch-eventsub-message-timestamp", unit: "rfc3339" },
    toleranceMs: 600_000,
  }),
  id: "header:twitch-eventsub-message-id",
  type: "json:subscription.type",
  idIsSigned: true,
  handshake: ({ read }) => echo(read("json:challenge")),
});

/** Updates of Telegram's Bot API, with a token that covers nothing of a delivery. */
export const telegram = defineProvider({
  name: "telegram",
  verify: signature({ header: "x-telegram-bot-api-secret-token", algorithm: "token" }),
  id: "json:update_id",
  type: (reader) => {
    const kind = reader.jsonNames([]).find((name) => name !== "update_id");
    return kind === undefined ? "missing" : { text: kind };
  },
});

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

/** Events of WorkOS. */
export const workos = defineProvider({
  name: "workos",
  verify: signature({
    header: "workos-signature",
    pairs: { separator: ",", signature: "v1", time: "t" },
    message: "{ts}.{body}",
    time: { unit: "ms" },
    toleranceMs: 180_000,
  }),
  id: "json:id",
  type: "json:event",
  idIsSigned: true,
  dataField: "data",
});
