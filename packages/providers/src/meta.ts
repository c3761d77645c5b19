import {
  MillraceError,
  type Answer,
  type Delivery,
  type Refusal,
  type SourceDefinition,
  type SourceOptions,
} from "@millrace/core";
import { echoAnswer, OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { noChallenge, withHandshake, identifyEach, identifyOne } from "./identity/identify.ts";
import { firstOf, joined, json, jsonDigest, type Locator } from "./identity/delivery-reader.ts";
import { metaUpdates } from "./identity/meta-updates.ts";
import { randomText } from "./random-text.ts";
import { metaSamples } from "./samples/meta-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { queryToken, queryValue } from "./signature/token-scheme.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";

export interface MetaOptions<Type extends string = string> extends SourceOptions<Type> {
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
 *
 * @throws `invalid_config` for a `verifyToken` that is too short.
 */
export function meta<Type extends string = string>(
  options: MetaOptions<Type>,
): SourceDefinition<NoInfer<Type>, never> {
  const { verifyToken, ...policy } = options;
  if (typeof verifyToken !== "string" || verifyToken.length < 8) {
    throw new MillraceError(
      "invalid_config",
      "Cannot use meta({ verifyToken }): it must be text of at least 8 characters",
    );
  }
  const provider = defineProvider({
    name: "meta",
    scheme: queryToken({
      name: "hub.verify_token",
      token: verifyToken,
      posts: signatureScheme({
        algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
        format: plainSignature("sha256="),
        header: "x-hub-signature-256",
        message: "{body}",
      }),
    }),
    identify: withHandshake(({ delivery }) => subscription(delivery), identifyUpdates),
    idIsSigned: true,
    repeatsDays: 7,
    methods: ["POST", "GET"],
    bodyBytesMax: 3 * 1024 * 1024,
    keptHeaders: ["content-type"],
    answers: OK_ANSWERS,
    samples: metaSamples,
    generateSecret: randomText("", 16, "hex"),
  });
  return { provider, options: policy };
}

function subscription(delivery: Delivery): Answer | Refusal | undefined {
  if (delivery.method !== "GET") return undefined;
  if (queryValue(delivery, "hub.mode") !== "subscribe") return noChallenge();
  return echoAnswer(queryValue(delivery, "hub.challenge")) ?? noChallenge();
}

/** The kind of a conversation's update: `message`, `read`, `postback`, next to who and when. */
const kindOfMessaging: Locator = (reader) => {
  for (const list of ["messaging", "standby"]) {
    const kind = reader
      .jsonNames(["entry", "0", list, "0"])
      .find((name) => !["sender", "recipient", "timestamp"].includes(name));
    if (kind !== undefined) return { text: kind };
  }
  return "missing";
};

const identifyUpdates = identifyEach(
  metaUpdates,
  identifyOne({
    id: firstOf(
      jsonDigest("entry.0.messaging.0", "object", "entry.0.id"),
      jsonDigest("entry.0.standby.0", "object", "entry.0.id"),
      jsonDigest(""),
    ),
    type: firstOf(
      joined(".", json("object"), json("entry.0.changes.0.field")),
      joined(".", json("object"), kindOfMessaging),
      json("object"),
    ),
    typeIsOptional: true,
  }),
);
