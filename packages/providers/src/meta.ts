import { z } from "zod";
import { echo } from "./answers.ts";
import { defineProviderWith, noChallenge } from "./define-provider.ts";
import { digest, joined, type Locator, locate } from "./identity/locations.ts";
import { metaUpdates } from "./identity/meta-updates.ts";
import samples from "./samples/meta.json" with { type: "json" };
import { isSameText } from "./signature/algorithm-of.ts";
import { signature } from "./signature/signature.ts";

export interface MetaOptions {
  /** The token that a new URL is asked for, of at least 8 characters. */
  readonly verifyToken: string;
}

/**
 * Events of Meta's Graph API webhooks (Facebook, Instagram, Messenger, WhatsApp):
 * `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 with the app secret over the body as it comes. A
 * new URL is asked for its challenge by a GET with the verify token. A delivery may carry a
 * thousand updates, and each is an event whose body is the same envelope with that one in it.
 *
 * Identity: Meta gives none; the SHA-256 of the update with object and account, and where it is a
 * change with the time of its entry, so that two equal changes are two. Type: object and field,
 * `whatsapp_business_account.messages`.
 *
 * Source: https://developers.facebook.com/docs/graph-api/webhooks/getting-started/; WhatsApp
 * documents up to 3 MB.
 */
export const meta = defineProviderWith<MetaOptions>(
  "meta",
  z.strictObject({ verifyToken: z.string().min(8, "must be text of at least 8 characters") }),
  ({ verifyToken }) => ({
    verify: signature({ header: "x-hub-signature-256", prefix: "sha256=" }),
    each: metaUpdates,
    id: [
      digest("json:entry.0.messaging.0", "json:object", "json:entry.0.id"),
      digest("json:entry.0.standby.0", "json:object", "json:entry.0.id"),
      digest("json:"),
    ],
    type: ["{json:object}.{json:entry.0.changes.0.field}", kindOfMessaging, "json:object"],
    typeIsOptional: true,
    idIsSigned: true,
    repeatsDays: 7,
    bodyBytesMax: 3 * 1024 * 1024,
    keptHeaders: ["content-type"],
    challenge: {
      method: "GET",
      answer: ({ read }) => {
        if (!isSameText(read("query:hub.verify_token") ?? "", verifyToken)) return undefined;
        const isSubscription = read("query:hub.mode") === "subscribe";
        return (isSubscription ? echo(read("query:hub.challenge")) : undefined) ?? noChallenge();
      },
    },
    answer: { status: 200 },
    samples,
  }),
);

const OBJECT = locate("json:object");

/** The object, and the kind of a conversation's update: `message`, `read`, `postback`. */
const kindOfMessaging: Locator = (reader) => {
  for (const list of ["messaging", "standby"]) {
    const kind = reader
      .jsonNames(["entry", "0", list, "0"])
      .find((name) => !["sender", "recipient", "timestamp"].includes(name));
    if (kind !== undefined) return joined(".", OBJECT, () => ({ text: kind }))(reader);
  }
  return "missing";
};
