import { echo } from "../answers.ts";
import { defineProvider, defineProviderAt } from "../define-provider.ts";
import { digest } from "../identity/locations.ts";
import { signature, timedSignature } from "../signature/signature.ts";
import { LONG_TOLERANCE_MS } from "../signature/signed-message.ts";
import { signedUrl } from "../signature/signed-url.ts";

/** Events of Box, with a signature for each of an app's two keys. */
export const box = defineProvider({
  name: "box",
  verify: signature({
    header: ["box-signature-primary", "box-signature-secondary"],
    encoding: "base64",
    message: "{body}{ts}",
    time: { header: "box-delivery-timestamp", unit: "rfc3339" },
    toleranceMs: 600_000,
  }),
  id: "json:id",
  type: "json:trigger",
  idIsSigned: true,
});

/** Events of Mux. `attempts` grows with each delivery. */
export const mux = defineProvider({
  name: "mux",
  verify: timedSignature("mux-signature"),
  id: "json:id",
  type: "json:type",
  idIsSigned: true,
  attemptFields: ["attempts"],
  dataField: "data",
});

/**
 * Events of Sanity. The body is yours (a projection), so that id and type stand in headers, which
 * the signature does not cover.
 */
export const sanity = defineProvider({
  name: "sanity",
  verify: timedSignature("sanity-webhook-signature", {
    encoding: "base64url",
    time: { unit: "ms" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: "header:idempotency-key",
  type: "header:sanity-operation",
});

/**
 * Events of Twilio Segment, one in a delivery: of a batch it signs the first alone, in another
 * form, so that batches are refused.
 */
export const segment = defineProvider({
  name: "segment",
  verify: signature({ header: "x-signature", algorithm: "sha1" }),
  id: "json:messageId",
  type: "json:type",
  idIsSigned: true,
  repeatsDays: 1,
});

/** Events of Cal.com, without an id; without a type where the webhook has its own template. */
export const calcom = defineProvider({
  name: "calcom",
  verify: signature({ header: "x-cal-signature-256" }),
  id: digest("json:"),
  type: "json:triggerEvent",
  typeIsOptional: true,
  idIsSigned: true,
});

/**
 * Events of HubSpot, in arrays. `eventId` is not unique, so the identity is the SHA-256 of all that
 * a retry keeps; `attemptNumber` is not in it.
 */
export const hubspot = defineProviderAt("hubspot", signedUrl, ({ url }) => ({
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
}));

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

/** Events of Typeform: base64 behind the prefix. */
export const typeform = defineProvider({
  name: "typeform",
  verify: signature({ header: "typeform-signature", prefix: "sha256=", encoding: "base64" }),
  id: "json:event_id",
  type: "json:event_type",
  idIsSigned: true,
});

/** Events of WorkOS. */
export const workos = defineProvider({
  name: "workos",
  repeatsDays: 3,
  verify: timedSignature("workos-signature", { time: { unit: "ms" }, toleranceMs: 180_000 }),
  id: "json:id",
  type: "json:event",
  idIsSigned: true,
  dataField: "data",
});

/** Events of Zendesk. Those of a trigger have a body of yours, with or without a type. */
export const zendesk = defineProvider({
  name: "zendesk",
  verify: signature({
    header: "x-zendesk-webhook-signature",
    encoding: "base64",
    message: "{ts}{body}",
    time: { header: "x-zendesk-webhook-signature-timestamp", unit: "rfc3339" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: "header:x-zendesk-webhook-invocation-id",
  type: "json:type",
  typeIsOptional: true,
});
