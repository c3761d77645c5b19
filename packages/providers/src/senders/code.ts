import { z } from "zod";
import { defineProvider, defineProviderWith } from "../define-provider.ts";
import { locate, textToHeader } from "../identity/locations.ts";
import githubSamples from "../samples/github.json" with { type: "json" };
import gitlabSamples from "../samples/gitlab.json" with { type: "json" };
import linearSamples from "../samples/linear.json" with { type: "json" };
import { jwt } from "../signature/jwt.ts";
import { signature, standardSignature } from "../signature/signature.ts";
import { GITHUB_TYPES } from "./event-types.ts";

const DELIVERY = locate("header:x-github-delivery");
const OF_APP = locate("{header:x-github-delivery}.{header:x-github-hook-installation-target-id}");

/**
 * Events of GitHub. Id and type stand in headers that the signature does not cover. The old SHA-1
 * header is not looked at. Two apps at one address get one delivery id for one event, with bodies
 * of their own, so the app's id stands behind it.
 */
export const github = defineProvider({
  name: "github",
  idPrefix: "uuid",
  verify: signature({ header: "x-hub-signature-256", prefix: "sha256=" }),
  id(reader) {
    const target = reader.delivery.headers["x-github-hook-installation-target-type"];
    return target === "integration" ? OF_APP(reader) : DELIVERY(reader);
  },
  type: "header:x-github-event",
  repeatsDays: 3,
  types: GITHUB_TYPES,
  keptHeaders: [
    ...["content-type", "x-github-delivery", "x-github-event", "x-github-hook-id"],
    ...["x-github-hook-installation-target-id", "x-github-hook-installation-target-type"],
  ],
  samples: githubSamples,
  sampleHeaders: ({ eventId }) => ({ "x-github-delivery": textToHeader(eventId) }),
});

export interface GitlabOptions {
  /**
   * The kind of the secret: the webhook's signing token (`signature`, the default), or the older
   * secret token (`token`), which covers nothing of a delivery.
   */
  readonly auth?: "signature" | "token" | undefined;
}

/**
 * Events of GitLab, signed as Standard Webhooks has it; a sender with both kinds of token is held
 * to the signature. With `auth: "token"` the identity is `Idempotency-Key`, which a retry keeps, or
 * in versions without it the delivery's UUID.
 */
export const gitlab = defineProviderWith<GitlabOptions>(
  "gitlab",
  z.strictObject({ auth: z.enum(["signature", "token"]).optional() }),
  ({ auth = "signature" }) => ({
    ...(auth === "signature"
      ? {
          ...{ verify: standardSignature(), secretPrefix: "whsec_" },
          ...{ id: "header:webhook-id", idIsSigned: true },
        }
      : {
          verify: signature({ header: "x-gitlab-token", algorithm: "token" }),
          id: ["header:idempotency-key", "header:x-gitlab-webhook-uuid"],
        }),
    idPrefix: "uuid",
    type: ["json:object_kind", "json:event_name"],
    typeIsOptional: true,
    keptHeaders: [
      ...["content-type", "idempotency-key", "webhook-id", "webhook-timestamp"],
      ...["event", "event-uuid", "instance", "webhook-uuid"].map((name) => `x-gitlab-${name}`),
    ],
    samples: gitlabSamples,
    sampleHeaders: ({ eventId }) => ({ "idempotency-key": textToHeader(eventId) }),
  }),
);

/** Events of Linear. The header with the time is signed by nobody, unlike that in the body. */
export const linear = defineProvider({
  name: "linear",
  idPrefix: "uuid",
  verify: signature({
    header: "linear-signature",
    time: { json: "webhookTimestamp", unit: "ms" },
    toleranceMs: 60_000,
  }),
  id: "header:linear-delivery",
  type: ["{json:type}.{json:action}", "json:type"],
  attemptFields: ["webhookTimestamp"],
  repeatsDays: 1,
  dataField: "data",
  bodyBytesMax: 5 * 1024 * 1024,
  keptHeaders: ["content-type", "linear-delivery", "linear-event"],
  answer: { status: 200 },
  samples: linearSamples,
  sampleHeaders: ({ type }) => ({ "linear-event": type.split(".")[0] ?? type }),
});

/** Events of Sentry's integrations. */
export const sentry = defineProvider({
  name: "sentry",
  verify: signature({ header: "sentry-hook-signature" }),
  id: "header:request-id",
  type: "{header:sentry-hook-resource}.{json:action}",
  dataField: "data",
});

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
    repeatsDays: 7,
  }),
);
