import { z } from "zod";
import { defineProviderWith } from "../define-provider.ts";
import { jwt } from "../signature/jwt.ts";

export interface GooglePubsubOptions {
  /** Audience of the push subscription: the URL that it calls, unless another is set there. */
  readonly audience: string;
  /** Email of the service account that the push subscription authenticates with. */
  readonly serviceAccount: string;
}

/**
 * Messages of a push subscription of Google Cloud Pub/Sub, with a token of Google's that covers
 * nothing of a delivery. `message.data` is base64.
 */
export const googlePubsub = defineProviderWith<GooglePubsubOptions, "message">(
  "google-pubsub",
  z.strictObject({ audience: z.string().min(1), serviceAccount: z.email() }),
  ({ audience, serviceAccount }) => ({
    verify: jwt({
      algorithm: "RS256",
      keys: "https://www.googleapis.com/oauth2/v3/certs",
      issuer: "https://accounts.google.com",
      audience,
      claims: { email: serviceAccount, email_verified: true },
    }),
    id: "json:message.messageId",
    type: "json:message.attributes.eventType",
    typeIsOptional: true,
    dataField: "message",
  }),
);
