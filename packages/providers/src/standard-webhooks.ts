import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { header, json } from "./identity/delivery-reader.ts";
import { randomWhsec } from "./random-text.ts";
import { standardWebhooksSamples } from "./samples/standard-webhooks-samples.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { standardScheme } from "./signature/signature-scheme.ts";

/**
 * Standard Webhooks, version 1 signatures: `webhook-signature: v1,<base64>`, HMAC-SHA256 over
 * `<webhook-id>.<webhook-timestamp>.<body>` with the base64 key behind `whsec_`.
 *
 * Source: the Standard Webhooks specification, spec/standard-webhooks.md.
 */
const provider = defineProvider({
  name: "standard-webhooks",
  scheme: standardScheme(keysIn("base64")),
  identify: identifyOne({
    id: header("webhook-id"),
    type: json("type"),
    typeIsOptional: true,
  }),
  idIsSigned: true,
  repeatsDays: 3,
  dataField: "data",
  keptHeaders: ["content-type", "webhook-id", "webhook-timestamp"],
  samples: standardWebhooksSamples,
  generateSecret: randomWhsec,
});

/** Events of a Standard Webhooks sender. Identity: `webhook-id`; type: the body's `type`. */
export function standardWebhooks<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "data"> {
  return { provider, options };
}
