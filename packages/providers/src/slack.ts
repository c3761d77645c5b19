import { echo } from "./answers.ts";
import { defineProvider, noChallenge } from "./define-provider.ts";
import { digest } from "./identity/locations.ts";
import samples from "./samples/slack.json" with { type: "json" };
import { signature } from "./signature/signature.ts";

/**
 * Events of Slack's Events API. A new URL is asked for its challenge first (`url_verification`); an
 * answer may take three seconds. Slash commands and interactivity are forms without an event id,
 * and are not taken. Identity: `event_id`; type: the inner event's `type`.
 *
 * Source: https://api.slack.com/authentication/verifying-requests-from-slack and
 * https://api.slack.com/events/url_verification.
 */
export const slack = defineProvider({
  name: "slack",
  idPrefix: "Ev",
  verify: signature({
    header: "x-slack-signature",
    prefix: "v0=",
    message: "v0:{ts}:{body}",
    time: { header: "x-slack-request-timestamp" },
  }),
  // The one event without an id is `app_rate_limited`, which names its minute.
  id: ["json:event_id", digest("json:minute_rate_limited", "json:team_id", "json:api_app_id")],
  type: ["json:event.type", "json:type"],
  idIsSigned: true,
  repeatsDays: 1,
  dataField: "event",
  keptHeaders: ["content-type", "x-slack-retry-num", "x-slack-retry-reason"],
  handshake: ({ read }) =>
    read("json:type") === "url_verification"
      ? (echo(read("json:challenge")) ?? noChallenge())
      : undefined,
  answer: { status: 200 },
  samples,
});
