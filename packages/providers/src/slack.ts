import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { echoAnswer, OK_ANSWERS } from "./answers.ts";
import { defineProvider } from "./define-provider.ts";
import { type DeliveryReader, firstOf, json, jsonDigest } from "./identity/delivery-reader.ts";
import { noChallenge, withHandshake, identifyOne } from "./identity/identify.ts";
import { randomText } from "./random-text.ts";
import { slackSamples } from "./samples/slack-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";

/**
 * Slack's Events API: `X-Slack-Signature: v0=<hex>`, HMAC-SHA256 over `v0:<time>:<body>`. A new URL
 * is asked for its challenge first (`url_verification`); an answer may take three seconds. Slash
 * commands and interactivity are forms without an event id, and are not taken.
 *
 * Source: https://api.slack.com/authentication/verifying-requests-from-slack and
 * https://api.slack.com/events/url_verification.
 */
const provider = defineProvider({
  name: "slack",
  scheme: signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "hex", keys: keysIn("utf8") }),
    format: plainSignature("v0="),
    header: "x-slack-signature",
    message: "v0:{ts}:{body}",
    timestamp: { header: "x-slack-request-timestamp", unit: "s" },
  }),
  identify: withHandshake(
    urlVerification,
    identifyOne({
      // The one event without an id is `app_rate_limited`, which names its minute.
      id: firstOf(json("event_id"), jsonDigest("minute_rate_limited", "team_id", "api_app_id")),
      type: firstOf(json("event.type"), json("type")),
    }),
  ),
  idIsSigned: true,
  repeatsDays: 1,
  dataField: "event",
  keptHeaders: ["content-type", "x-slack-retry-num", "x-slack-retry-reason"],
  answers: OK_ANSWERS,
  samples: slackSamples,
  generateSecret: randomText("", 16, "hex"),
});

/** Events of Slack's Events API. Identity: `event_id`; type: the inner event's `type`. */
export function slack<Type extends string = string>(
  options: SourceOptions<Type> = {},
): SourceDefinition<NoInfer<Type>, "event"> {
  return { provider, options };
}

function urlVerification(reader: DeliveryReader) {
  const type = reader.json(["type"]);
  if (typeof type === "string" || type.text !== "url_verification") return undefined;
  const challenge = reader.json(["challenge"]);
  return (typeof challenge === "string" ? undefined : echoAnswer(challenge.text)) ?? noChallenge();
}
