import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import samples from "./samples/square.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { readSignedUrl } from "./signature/signed-url.ts";

export interface SquareOptions<Type extends string = string> extends SourceOptions<Type> {
  /** The notification URL exactly as it is registered at Square, which signs it. */
  readonly url: string;
}

/**
 * Events of Square: HMAC over the registered URL and the body behind it, with the signature key as
 * text. The older `x-square-signature` is not looked at. Identity: `event_id`; type: `type`.
 *
 * Source: square's wrapper/WebhooksHelper.js.
 *
 * @throws `invalid_config` for a `url` that is not one.
 */
export function square<Type extends string = string>(
  options: SquareOptions<Type>,
): SourceDefinition<NoInfer<Type>, "data"> {
  const { url, ...policy } = options;
  return defineProvider({
    name: "square",
    idPrefix: "uuid",
    verify: signature({
      header: "x-square-hmacsha256-signature",
      encoding: "base64",
      message: "{url}{body}",
      url: readSignedUrl("square", url, { query: true }),
    }),
    id: "json:event_id",
    type: "json:type",
    idIsSigned: true,
    repeatsDays: 3,
    dataField: "data",
    keptHeaders: [
      "content-type",
      "square-environment",
      "square-retry-number",
      "square-retry-reason",
      "square-subscription-id",
    ],
    samples,
  })(policy);
}
