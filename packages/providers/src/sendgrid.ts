import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { arrayItems, identifyEach, identifyOne } from "./identity/identify.ts";
import { firstOf, json, jsonDigest } from "./identity/delivery-reader.ts";
import { sendgridSamples } from "./samples/sendgrid-samples.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { publicKeyAlgorithm, p256, randomPrivateKey } from "./signature/public-key-algorithm.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { LONG_TOLERANCE_MS } from "./signature/signed-message.ts";

/**
 * Twilio SendGrid's Event Webhook: ECDSA on P-256 over `<time><body>`, checked with the
 * verification key that its settings show. A delivery is an array of events, and each is one of
 * ours, with its own bytes for a body.
 *
 * Source:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 * and @sendgrid/eventwebhook.
 */
const provider = defineProvider({
  name: "sendgrid",
  scheme: signatureScheme({
    algorithm: publicKeyAlgorithm(p256),
    format: plainSignature(),
    header: "x-twilio-email-event-webhook-signature",
    message: "{ts}{body}",
    timestamp: { header: "x-twilio-email-event-webhook-timestamp", unit: "s" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  identify: identifyEach(
    arrayItems,
    identifyOne({
      id: firstOf(json("sg_event_id"), jsonDigest("")),
      type: json("event"),
      typeIsOptional: true,
    }),
  ),
  idIsSigned: true,
  repeatsDays: 1,
  keptHeaders: ["content-type"],
  samples: sendgridSamples,
  generateSecret: () => randomPrivateKey(p256),
});

/** Identity: `sg_event_id`, or the SHA-256 of an event without; type: `event`. */
export function sendgrid<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, never> {
  return { provider, options };
}
