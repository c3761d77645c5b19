import type { SourceDefinition, SourceOptions } from "@millrace/core";
import { defineProvider } from "./define-provider.ts";
import {
  textToHeader,
  type Found,
  bodyDigest,
  firstOf,
  form,
  header,
  type Locator,
} from "./identity/delivery-reader.ts";
import { identifyOne } from "./identity/identify.ts";
import { randomText } from "./random-text.ts";
import { twilioSamples } from "./samples/twilio-samples.ts";
import { hmacAlgorithm } from "./signature/signature-algorithm.ts";
import { keysIn } from "./signature/prepare-secrets.ts";
import { plainSignature } from "./signature/signature-format.ts";
import { signatureScheme } from "./signature/signature-scheme.ts";
import { readSignedUrl, urlFormMessage } from "./signature/signed-url.ts";

export interface TwilioOptions<Type extends string = string> extends SourceOptions<Type> {
  /** The URL that Twilio calls, which it signs, without its query, taken from each delivery. */
  readonly url: string;
}

/** No instruction: Twilio does nothing further with a message or a call. */
const EMPTY_TWIML = {
  status: 200,
  headers: { "content-type": "text/xml; charset=utf-8" },
  body: '<?xml version="1.0" encoding="UTF-8"?><Response></Response>',
};

/**
 * Events of Twilio: `X-Twilio-Signature: <base64>`, HMAC-SHA1 with the auth token over the URL and
 * the fields of the form; no time is signed. Answered with empty TwiML: it is for reports
 * (messages, status callbacks), not for calls that wait for instructions.
 *
 * Identity: `I-Twilio-Idempotency-Token`, which is not signed, else the body's SHA-256. Type:
 * `EventType`, else what a status is of and the status: `message.delivered`, `call.completed`,
 * `recording.completed`.
 *
 * Source: https://www.twilio.com/docs/usage/security and twilio-node's webhooks.js.
 *
 * @throws `invalid_config` for a `url` that is not one.
 */
export function twilio<Type extends string = string>(
  options: TwilioOptions<Type>,
): SourceDefinition<NoInfer<Type>, never> {
  const { url, ...policy } = options;
  const provider = defineProvider({
    name: "twilio",
    scheme: signatureScheme({
      algorithm: hmacAlgorithm({ hash: "sha1", encoding: "base64", keys: keysIn("utf8") }),
      format: plainSignature(),
      header: "x-twilio-signature",
      message: urlFormMessage(readSignedUrl("twilio", url, { query: false })),
    }),
    identify: identifyOne({
      id: firstOf(header("i-twilio-idempotency-token"), bodyDigest),
      type: firstOf(
        form("EventType"),
        status("recording", "RecordingStatus"),
        status("message", "MessageStatus"),
        status("call", "CallStatus"),
        status("message", "SmsStatus"),
      ),
      typeIsOptional: true,
    }),
    idIsSigned: false,
    keptHeaders: ["content-type", "i-twilio-idempotency-token"],
    answers: { accepted: EMPTY_TWIML, duplicate: EMPTY_TWIML },
    samples: twilioSamples,
    generateSecret: randomText("", 16, "hex"),
    identityHeaders: ({ eventId }) => ({
      "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
      "i-twilio-idempotency-token": textToHeader(eventId),
    }),
  });
  return { provider, options: policy };
}

function status(of: string, field: string): Locator {
  return (reader): Found => {
    const found = reader.form(field);
    return typeof found === "string" ? found : { text: `${of}.${found.text}` };
  };
}
