import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { textToHeader, firstOf, header, joined, json } from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomText } from "./random-text.ts";
import { linearSamples } from "./samples/linear-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";

/**
 * Linear: `Linear-Signature: <hex>`, HMAC-SHA256 over the body, in which `webhookTimestamp` is the
 * signed time; the header of that name is signed by nobody. The delivery's id stands in a header
 * too, and is marked unsigned.
 *
 * Source: https://linear.app/developers/webhooks and @linear/sdk's webhooks client (60 seconds, 5
 * MiB).
 */
const provider = defineProvider({
  name: "linear",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: plainSignature(),
    header: "linear-signature",
    message: "{body}",
    timestamp: { json: ["webhookTimestamp"], unit: "ms" },
    toleranceMs: 60_000,
  }),
  identify: identifyOne({
    id: header("linear-delivery"),
    type: firstOf(joined(".", json("type"), json("action")), json("type")),
  }),
  idIsSigned: false,
  repeatsDays: 1,
  dataField: "data",
  bodyBytesMax: 5 * 1024 * 1024,
  keptHeaders: ["content-type", "linear-delivery", "linear-event"],
  answers: OK_ANSWERS,
  samples: linearSamples,
  generateSecret: randomText("lin_wh_", 32, "base64url"),
  identityHeaders: ({ eventId, type }) => ({
    "linear-delivery": textToHeader(eventId),
    "linear-event": textToHeader(type.split(".")[0] ?? type),
  }),
});

/** Identity: `Linear-Delivery`; type: the body's `type` and `action`, `Issue.create`. */
export function linear<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "data"> {
  return { provider, options };
}
