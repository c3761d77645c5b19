import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { json } from "./identity/delivery-reader.ts";
import { randomWhsec } from "./random-text.ts";
import { stripeSamples } from "./samples/stripe-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { pairSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { STRIPE_TYPES } from "./types/stripe-types.ts";

/**
 * Stripe: `Stripe-Signature: t=<s>,v1=<hex>`, HMAC-SHA256 over `<t>.<body>` with the whole endpoint
 * secret as text. Stripe's own SDK takes any time in the future; here the tolerance is both ways.
 *
 * Source: https://docs.stripe.com/webhooks and stripe-node's Webhooks.js.
 */
const provider = defineProvider({
  name: "stripe",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: pairSignature({ separator: ",", signature: "v1", timestamp: "t" }),
    header: "stripe-signature",
    message: "{ts}.{body}",
    timestamp: { unit: "s" },
  }),
  identify: identifyOne({ id: json("id"), type: json("type") }),
  idIsSigned: true,
  repeatsDays: 3,
  secretPrefix: "whsec_",
  types: STRIPE_TYPES,
  dataField: "data",
  samples: stripeSamples,
  generateSecret: randomWhsec,
});

/** Events of Stripe. Identity: the event's `id`; type: its `type`. */
export function stripe<Type extends string = never>(
  options: SourceOptions<Type> = {},
): SourceDefinition<(typeof STRIPE_TYPES)[number] | NoInfer<Type>, "data"> {
  return { provider, options };
}
