import { defineProvider } from "./define-provider.ts";
import { digest } from "./identity/locations.ts";
import samples from "./samples/sendgrid.json" with { type: "json" };
import { signature } from "./signature/signature.ts";
import { LONG_TOLERANCE_MS } from "./signature/signed-message.ts";

/**
 * Twilio SendGrid's Event Webhook: ECDSA, checked with the verification key that its settings show.
 * A delivery is an array of events, and each is one of ours, with its own bytes for a body.
 * Identity: `sg_event_id`, or the SHA-256 of an event without; type: `event`.
 *
 * Source:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
 * and @sendgrid/eventwebhook.
 */
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
  samples,
});
