import { z } from "zod";
import { defineProviderWith } from "./define-provider.ts";
import { digest } from "./identity/locations.ts";
import samples from "./samples/twilio.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { signedUrl, urlFormMessage, type UrlOptions } from "./signature/signed-url.ts";

/** No instruction: Twilio does nothing further with a message or a call. */
const EMPTY_TWIML = {
  type: "text/xml; charset=utf-8",
  body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
};

/**
 * Events of Twilio: HMAC-SHA1 with the auth token over the URL and the fields of the form; no time
 * is signed. Answered with empty TwiML: it is for reports (messages, status callbacks), not for
 * calls that wait for instructions.
 *
 * Identity: `I-Twilio-Idempotency-Token`, which is not signed, else the body's SHA-256. Type:
 * `EventType`, else what a status is of and the status: `message.delivered`, `call.completed`,
 * `recording.completed`.
 *
 * Source: https://www.twilio.com/docs/usage/security and twilio-node's webhooks.js.
 */
export const twilio = defineProviderWith<UrlOptions>(
  "twilio",
  z.strictObject({
    url: signedUrl.regex(/^[^?]*$/, "must have no query: that is taken from each delivery"),
  }),
  ({ url }) => ({
    idPrefix: "uuid",
    verify: signature({
      header: "x-twilio-signature",
      algorithm: "sha1",
      encoding: "base64",
      message: urlFormMessage,
      url,
    }),
    id: ["header:i-twilio-idempotency-token", digest()],
    type: [
      "form:EventType",
      "recording.{form:RecordingStatus}",
      "message.{form:MessageStatus}",
      "call.{form:CallStatus}",
      "message.{form:SmsStatus}",
    ],
    typeIsOptional: true,
    answer: EMPTY_TWIML,
    samples,
    sampleHeaders: () => ({
      "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
    }),
  }),
);
