import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { identifyOne } from "./identity/identify.ts";
import { json } from "./identity/delivery-reader.ts";
import { randomText } from "./random-text.ts";
import { squareSamples } from "./samples/square-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { readSignedUrl } from "./signature/signed-url.ts";

export interface SquareOptions<Type extends string = string> extends SourceOptions<Type> {
  /** The notification URL exactly as it is registered at Square, which signs it. */
  readonly url: string;
}

/**
 * Events of Square: `x-square-hmacsha256-signature: <base64>`, HMAC-SHA256 over the registered URL
 * and the body behind it, with the signature key as text. The older `x-square-signature` is not
 * looked at.
 *
 * Identity: `event_id`; type: `type`.
 *
 * Source: square's wrapper/WebhooksHelper.js.
 *
 * @throws `invalid_config` for a `url` that is not one.
 */
export function square<Type extends string = string>(
  options: SquareOptions<Type>,
): SourceDefinition<NoInfer<Type>, "data"> {
  const { url, ...policy } = options;
  const provider = defineProvider({
    name: "square",
    scheme: signatureScheme({
      algorithm: hmacAlgorithm({ hash: "sha256", encoding: "base64", keys: keysIn("utf8") }),
      format: plainSignature(),
      header: "x-square-hmacsha256-signature",
      message: `${readSignedUrl("square", url, { query: true })}{body}`,
    }),
    identify: identifyOne({ id: json("event_id"), type: json("type") }),
    idIsSigned: true,
    repeatsDays: 1,
    dataField: "data",
    keptHeaders: [
      "content-type",
      "square-environment",
      "square-retry-number",
      "square-retry-reason",
      "square-subscription-id",
    ],
    samples: squareSamples,
    generateSecret: randomText("", 16, "base64url"),
  });
  return { provider, options: policy };
}
