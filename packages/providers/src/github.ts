import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import { header, joined, textToHeader, type Locator } from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomHex } from "./random-text.ts";
import { githubSamples } from "./samples/github-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { GITHUB_TYPES } from "./types/github-types.ts";

const DELIVERY = header("x-github-delivery");
const OF_APP = joined(".", DELIVERY, header("x-github-hook-installation-target-id"));

/** Two apps at one address get one delivery id for one event, with bodies of their own. */
const id: Locator = (reader) => {
  const target = reader.delivery.headers["x-github-hook-installation-target-type"];
  return target === "integration" ? OF_APP(reader) : DELIVERY(reader);
};

/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>`, HMAC-SHA256 over the body alone. Id and type stand
 * in headers that the signature does not cover, so the id is marked unsigned. The old SHA-1 header
 * is not looked at.
 *
 * Source: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries; payloads
 * are capped at 25 MB (https://docs.github.com/webhooks/webhook-events-and-payloads).
 */
const provider = defineProvider({
  name: "github",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: plainSignature("sha256="),
    header: "x-hub-signature-256",
    message: "{body}",
  }),
  identify: identifyOne({ id, type: header("x-github-event") }),
  idIsSigned: false,
  repeatsDays: 3,
  types: GITHUB_TYPES,
  bodyBytesMax: 25 * 1024 * 1024,
  keptHeaders: [
    "content-type",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-github-hook-installation-target-id",
    "x-github-hook-installation-target-type",
  ],
  samples: githubSamples,
  generateSecret: randomHex,
  identityHeaders: ({ eventId, type }) => ({
    "x-github-delivery": textToHeader(eventId),
    "x-github-event": textToHeader(type),
  }),
});

/**
 * Events of GitHub. Identity: `X-GitHub-Delivery`, of an app with a `.` and the app's id behind it;
 * type: `X-GitHub-Event`.
 */
export function github<Type extends string = never>(
  options: SourceOptions<Type> = {},
): SourceDefinition<(typeof GITHUB_TYPES)[number] | NoInfer<Type>, never> {
  return { provider, options };
}
