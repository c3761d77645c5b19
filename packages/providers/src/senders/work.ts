import { echo } from "../answers.ts";
import { defineProvider, defineProviderWith } from "../define-provider.ts";
import { digest } from "../identity/locations.ts";
import { signature } from "../signature/signature.ts";
import { urlOptions, type UrlOptions } from "../signature/signed-url.ts";

/**
 * Events of HubSpot, in arrays. `eventId` is not unique, so the identity is the SHA-256 of all that
 * a retry keeps; `attemptNumber` is not in it.
 */
export const hubspot = defineProviderWith<UrlOptions>("hubspot", urlOptions, ({ url }) => ({
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
