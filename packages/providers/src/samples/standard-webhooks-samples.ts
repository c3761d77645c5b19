import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

/** The body that the Standard Webhooks specification recommends: `type, timestamp, data`. */
function body(request: SampleRequest, data: unknown): unknown {
  return { type: request.type, timestamp: new Date(request.nowMs).toISOString(), data };
}

export const standardWebhooksSamples = defineSamples(
  {
    "invoice.paid": (request) =>
      body(request, {
        id: `inv_${digitsOf(request.eventId, "inv", 14)}`,
        amount: amountOf(request.eventId),
        currency: "EUR",
      }),
    "contact.created": (request) =>
      body(request, { id: digitsOf(request.eventId, "contact", 12), first_name: "Grace" }),
  },
  (request) => body(request, {}),
);

/** The same body; the types are those of Clerk and Resend, which deliver through Svix. */
export const svixSamples = defineSamples(
  {
    "user.created": (request) =>
      body(request, {
        id: `user_${digitsOf(request.eventId, "user", 27)}`,
        first_name: "Ada",
        email_addresses: [{ email_address: "ada@example.com" }],
      }),
    "email.delivered": (request) =>
      body(request, {
        email_id: digitsOf(request.eventId, "email", 32),
        to: ["ada@example.com"],
        subject: "The mill turns",
      }),
  },
  (request) => body(request, {}),
);
