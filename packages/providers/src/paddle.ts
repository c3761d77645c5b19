import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { json } from "./identity/delivery-reader.ts";
import { randomText } from "./random-text.ts";
import { paddleSamples } from "./samples/paddle-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { pairSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { PADDLE_TYPES } from "./types/paddle-types.ts";

/**
 * Paddle Billing: `Paddle-Signature: ts=<s>;h1=<hex>`, HMAC-SHA256 over `<ts>:<body>`. Of several
 * `h1`, as they are sent while a secret is being changed, any will do; Paddle's own SDK looks at
 * the last. The tolerance is its five seconds, here both ways: `toleranceMs` widens it where clocks
 * are not that good.
 *
 * Source: https://developer.paddle.com/webhooks/signature-verification and paddle-node-sdk's
 * webhooks-validator.js.
 */
const provider = defineProvider({
  name: "paddle",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: pairSignature({ separator: ";", signature: "h1", timestamp: "ts" }),
    header: "paddle-signature",
    message: "{ts}:{body}",
    timestamp: { unit: "s" },
    toleranceMs: 5_000,
  }),
  identify: identifyOne({ id: json("event_id"), type: json("event_type") }),
  idIsSigned: true,
  repeatsDays: 3,
  secretPrefix: "pdl_ntfset_",
  types: PADDLE_TYPES,
  dataField: "data",
  keptHeaders: ["content-type"],
  answers: OK_ANSWERS,
  samples: paddleSamples,
  generateSecret: randomText("pdl_ntfset_", 32, "base64url"),
});

/** Events of Paddle Billing. Identity: `event_id`, not `notification_id`; type: `event_type`. */
export function paddle<Type extends string = never>(
  options: SourceOptions<Type> = {},
): SourceDefinition<(typeof PADDLE_TYPES)[number] | NoInfer<Type>, "data"> {
  return { provider, options };
}
