import { echo, noChallenge, type AnswerParts } from "../answers.ts";
import {
  defineProvider,
  defineProviderAt,
  type AnswerChallenge,
  type SourceFactory,
} from "../define-provider.ts";
import { digest, readDelivery, type DeliveryReader, type Found } from "../identity/locations.ts";
import discordSamples from "../samples/discord.json" with { type: "json" };
import sendgridSamples from "../samples/sendgrid.json" with { type: "json" };
import slackSamples from "../samples/slack.json" with { type: "json" };
import twilioSamples from "../samples/twilio.json" with { type: "json" };
import zoomSamples from "../samples/zoom.json" with { type: "json" };
import { signature, v0Signature, type Scheme } from "../signature/signature.ts";
import { LONG_TOLERANCE_MS } from "../signature/signed-message.ts";
import { signedUrl, urlFormMessage } from "../signature/signed-url.ts";

/** Events of LINE's Messaging API, in lists. */
export const line = defineProvider({
  name: "line",
  verify: signature({ header: "x-line-signature", encoding: "base64" }),
  each: "events",
  id: "json:webhookEventId",
  type: "json:type",
  idIsSigned: true,
  attemptFields: ["deliveryContext"],
  answer: { status: 200 },
});

const urlWithoutQuery = signedUrl.regex(
  /^[^?]*$/,
  "must have no query: that is taken from each delivery",
);

function formSignature(header: string, url: string): Scheme {
  return signature({ header, algorithm: "sha1", encoding: "base64", message: urlFormMessage, url });
}

/**
 * Events of Mailchimp Transactional (Mandrill), in lists within a form, without an id. A new URL is
 * asked for by HEAD.
 */
export const mandrill = defineProviderAt("mandrill", urlWithoutQuery, ({ url }) => ({
  verify: formSignature("x-mandrill-signature", url),
  body: "form:mandrill_events",
  each: "json:",
  id: digest("json:"),
  type: "json:event",
  typeIsOptional: true,
  idIsSigned: true,
  answer: { status: 200 },
  challenge: { method: "HEAD", answer: () => ({}) },
}));

/** Twilio SendGrid's Event Webhook. The secret is the verification key that its settings show. */
export const sendgrid = defineProvider({
  name: "sendgrid",
  verify: signature({
    header: "x-twilio-email-event-webhook-signature",
    algorithm: "p256",
    message: "{ts}{body}",
    time: { header: "x-twilio-email-event-webhook-timestamp" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  each: "json:",
  id: ["json:sg_event_id", digest("json:")],
  type: "json:event",
  typeIsOptional: true,
  idIsSigned: true,
  repeatsDays: 1,
  samples: sendgridSamples,
});

/**
 * Events of Slack's Events API, slash commands, and interactions. The last two are forms without an
 * id, so that it is the SHA-256 of the body, which is signed.
 *
 * `SlackEvent` of @slack/types is the event within the payload: `slack<SlackEvent>()`.
 */
export const slack = defineProvider({
  name: "slack",
  idPrefix: "Ev",
  verify: v0Signature("x-slack"),
  // The one event without an id is `app_rate_limited`, which names its minute.
  id: [
    formId,
    "json:event_id",
    digest("json:minute_rate_limited", "json:team_id", "json:api_app_id"),
  ],
  type: [formType, "json:event.type", "json:type"],
  idIsSigned: true,
  repeatsDays: 1,
  dataField: "event",
  keptHeaders: ["content-type", "x-slack-retry-num", "x-slack-retry-reason"],
  handshake: ({ read }) =>
    read("json:type") === "url_verification"
      ? (echo(read("json:challenge")) ?? noChallenge())
      : undefined,
  // Slack shows what answers a command.
  answer: { status: 200, body: "" },
  samples: slackSamples,
}) as SourceFactory<never, "event", unknown, "event">;

function formId(reader: DeliveryReader): Found {
  const type = formType(reader);
  return typeof type === "string" ? type : digest()(reader);
}

/** The type of a form: the command, `/weather`, or that of an interaction, `block_actions`. */
function formType(reader: DeliveryReader): Found {
  if (reader.jsonBytes([]) !== "not_json") return "missing";
  const command = reader.read("form:command");
  if (command !== undefined) return { text: command };
  const body = Buffer.from(reader.read("form:payload") ?? "");
  return readDelivery({ ...reader.delivery, body }).json(["type"]);
}

/** Updates of Telegram's Bot API, with a token that covers nothing of a delivery. */
export const telegram = defineProvider({
  name: "telegram",
  verify: signature({ header: "x-telegram-bot-api-secret-token", algorithm: "token" }),
  id: "json:update_id",
  type: (reader) => {
    const kind = reader.jsonNames([]).find((name) => name !== "update_id");
    return kind === undefined ? "missing" : { text: kind };
  },
});

/**
 * Events of Twilio: HMAC-SHA1 with the auth token over the URL and the fields of the form; no time
 * is signed. Answered with empty TwiML: it is for reports (messages, status callbacks), not for
 * calls that wait for instructions. Type: `EventType`, else what a status is of and the status:
 * `message.delivered`.
 */
export const twilio = defineProviderAt("twilio", urlWithoutQuery, ({ url }) => ({
  idPrefix: "uuid",
  verify: formSignature("x-twilio-signature", url),
  id: ["header:i-twilio-idempotency-token", digest()],
  type: [
    "form:EventType",
    "recording.{form:RecordingStatus}",
    "message.{form:MessageStatus}",
    "call.{form:CallStatus}",
    "message.{form:SmsStatus}",
  ],
  typeIsOptional: true,
  answer: {
    type: "text/xml; charset=utf-8",
    body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
  },
  samples: twilioSamples,
  sampleHeaders: () => ({
    "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
  }),
}));

/** Events of Twitch's EventSub. The challenge of a new subscription is signed like an event. */
export const twitch = defineProvider({
  name: "twitch",
  verify: signature({
    ...{ header: "twitch-eventsub-message-signature", prefix: "sha256=" },
    message: "{header:twitch-eventsub-message-id}{ts}{body}",
    time: { header: "twitch-eventsub-message-timestamp", unit: "rfc3339" },
    toleranceMs: 600_000,
  }),
  id: "header:twitch-eventsub-message-id",
  type: "json:subscription.type",
  idIsSigned: true,
  handshake: ({ read }) => echo(read("json:challenge")),
});

/**
 * Events of Zoom, which have no id. A URL is asked to prove that it has the secret token
 * (`endpoint.url_validation`), signed like every event.
 */
export const zoom = defineProvider({
  name: "zoom",
  verify: v0Signature("x-zm", { toleranceMs: LONG_TOLERANCE_MS }),
  id: digest("json:payload", "json:event", "json:event_ts"),
  type: "json:event",
  idIsSigned: true,
  dataField: "payload",
  keptHeaders: ["content-type", "x-zm-trackingid"],
  handshake: proveToken,
  answer: { status: 200 },
  samples: zoomSamples,
});

function proveToken(...[{ read }, prove]: Parameters<AnswerChallenge>) {
  if (read("json:event") !== "endpoint.url_validation") return undefined;
  const plainToken = read("json:payload.plainToken") ?? "";
  const encryptedToken = prove(plainToken);
  return encryptedToken === undefined ? undefined : { body: { plainToken, encryptedToken } };
}

const NO_CONTENT = { status: 204, type: "application/json" };

// Interactions by Discord's number: their documented names, and the answer that leaves the rest to
// a handler, which has fifteen minutes to edit it. An autocompletion cannot wait, and gets no
// choices.
const INTERACTIONS: Readonly<Record<string, { readonly name: string; readonly body: object }>> = {
  2: { name: "APPLICATION_COMMAND", body: { type: 5 } },
  3: { name: "MESSAGE_COMPONENT", body: { type: 6 } },
  4: { name: "APPLICATION_COMMAND_AUTOCOMPLETE", body: { type: 8, data: { choices: [] } } },
  5: { name: "MODAL_SUBMIT", body: { type: 5 } },
};

/**
 * Discord, its interactions and its webhook events, checked with the application's public key. Both
 * begin with a PING, which has an answer of its own in each. A webhook event has no id.
 */
export const discord = defineProvider({
  name: "discord",
  verify: signature({
    header: "x-signature-ed25519",
    algorithm: "ed25519",
    message: "{ts}{body}",
    time: { header: "x-signature-timestamp" },
    toleranceMs: LONG_TOLERANCE_MS,
  }),
  id: [digest("json:event", "json:application_id"), "json:id"],
  type: ["json:event.type", interactionType],
  typeIsOptional: true,
  idIsSigned: true,
  repeatsDays: 1,
  handshake: pong,
  answer: (request) => interactionIn(request) ?? NO_CONTENT,
  samples: discordSamples,
});

function pong(reader: DeliveryReader): AnswerParts | undefined {
  const type = reader.read("json:type");
  if (isWebhookEvent(reader)) return undefined;
  if (type === "0") return NO_CONTENT;
  return type === "1" ? { body: { type: 1 } } : undefined;
}

function interactionType(reader: DeliveryReader): Found {
  const interaction = interactionIn(reader);
  return interaction === undefined ? "missing" : { text: interaction.name };
}

function interactionIn(reader: DeliveryReader) {
  const type = reader.read("json:type") ?? "";
  if (isWebhookEvent(reader)) return undefined;
  return Object.hasOwn(INTERACTIONS, type) ? INTERACTIONS[type] : undefined;
}

function isWebhookEvent({ jsonBytes }: DeliveryReader): boolean {
  return typeof jsonBytes(["event"]) !== "string";
}
