import { z } from "zod";
import { defineProviderWith } from "./define-provider.ts";
import samples from "./samples/square.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { signedUrl, type UrlOptions } from "./signature/signed-url.ts";

/**
 * Events of Square: HMAC over the registered URL and the body behind it, with the signature key as
 * text. The older `x-square-signature` is not looked at.
 *
 * Source: square's wrapper/WebhooksHelper.js.
 */
export const square = defineProviderWith<UrlOptions, "data">(
  "square",
  z.strictObject({ url: signedUrl }),
  ({ url }) => ({
    idPrefix: "uuid",
    verify: signature({
      header: "x-square-hmacsha256-signature",
      encoding: "base64",
      message: "{url}{body}",
      url,
    }),
    id: "json:event_id",
    type: "json:type",
    idIsSigned: true,
    repeatsDays: 3,
    dataField: "data",
    keptHeaders: [
      ...["content-type", "square-environment", "square-subscription-id"],
      ...["square-retry-number", "square-retry-reason"],
    ],
    samples,
  }),
);
