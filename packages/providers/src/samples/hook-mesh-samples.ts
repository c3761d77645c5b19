import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

/** Hook Mesh's envelope (its idempotency page): `event_id, event_type, payload, timestamp`. */
function envelope(request: SampleRequest, payload: unknown): unknown {
  return {
    event_id: request.eventId,
    event_type: request.type,
    timestamp: new Date(request.nowMs).toISOString(),
    payload,
  };
}

// One user for all samples: a subscription that is sent after a user is that user's.
const USER_ID = "user_ada";

export const hookMeshSamples = defineSamples(
  {
    "user.created": (request) =>
      envelope(request, {
        user_id: USER_ID,
        email: "ada@example.com",
        name: "Ada Lovelace",
      }),
    "subscription.created": (request) => envelope(request, { user_id: USER_ID, tier: "pro" }),
    "payment.succeeded": (request) =>
      envelope(request, {
        payment_id: `pay_${digitsOf(request.eventId, "pay", 12)}`,
        user_id: USER_ID,
        amount: amountOf(request.eventId),
      }),
    "order.shipped": (request) =>
      envelope(request, {
        order_id: `order_${digitsOf(request.eventId, "order", 12)}`,
        user_id: USER_ID,
        carrier: "ups",
        tracking_number: digitsOf(request.eventId, "tracking", 18).toUpperCase(),
        email: "ada@example.com",
      }),
  },
  (request) => envelope(request, {}),
);
