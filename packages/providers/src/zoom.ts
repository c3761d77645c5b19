import type { Answer, Delivery, SourceDefinition, SourceOptions } from "@millrace/core";
import { jsonAnswer, OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { readDelivery, json, jsonDigest } from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomText } from "./random-text.ts";
import { zoomSamples } from "./samples/zoom-samples.ts";
import { hmacAlgorithm, type SigningKey } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { LONG_TOLERANCE_MS } from "./signature/signed-message.ts";

/**
 * Zoom: `x-zm-signature: v0=<hex>`, HMAC-SHA256 over `v0:<time>:<body>` with the secret token. A
 * URL is asked to prove that it has the token (`endpoint.url_validation`), signed like every event.
 *
 * Source: Zoom's pages on webhooks, and its webhook-sample.
 */
const provider = defineProvider({
  name: "zoom",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: plainSignature("v0="),
    header: "x-zm-signature",
    message: "v0:{ts}:{body}",
    timestamp: { header: "x-zm-request-timestamp", unit: "s" },
    toleranceMs: LONG_TOLERANCE_MS,
    respond: proveToken,
  }),
  identify: identifyOne({ id: jsonDigest("payload", "event", "event_ts"), type: json("event") }),
  idIsSigned: true,
  dataField: "payload",
  keptHeaders: ["content-type", "x-zm-trackingid"],
  answers: OK_ANSWERS,
  samples: zoomSamples,
  generateSecret: randomText("", 16, "base64url"),
});

/** Identity: the SHA-256 of payload, event and time, as Zoom gives none. Type: `event`. */
export function zoom<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "payload"> {
  return { provider, options };
}

function proveToken(delivery: Delivery, key: SigningKey): Answer | undefined {
  const reader = readDelivery(delivery);
  const event = reader.json(["event"]);
  if (typeof event === "string" || event.text !== "endpoint.url_validation") return undefined;
  const plainToken = reader.json(["payload", "plainToken"]);
  // Nothing that could be the start of a delivery's message is ever signed for a caller.
  if (typeof plainToken === "string" || !/^[\w-]{1,256}$/.test(plainToken.text)) return undefined;
  return jsonAnswer({ plainToken: plainToken.text, encryptedToken: key.sign([plainToken.text]) });
}
