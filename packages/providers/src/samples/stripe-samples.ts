import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

/** Stripe's event object (API reference, "The Event object"), shortened to what handlers read. */
function event(request: SampleRequest, object: unknown): unknown {
  return {
    id: request.eventId,
    object: "event",
    api_version: "2025-03-31.basil",
    created: Math.floor(request.nowMs / 1_000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: `req_${digitsOf(request.eventId, "req", 14)}`, idempotency_key: null },
    type: request.type,
  };
}

function paymentIntent(request: SampleRequest, status: string): unknown {
  const amount = amountOf(request.eventId);
  return {
    id: `pi_${digitsOf(request.eventId, "pi", 24)}`,
    object: "payment_intent",
    amount,
    amount_received: status === "succeeded" ? amount : 0,
    created: Math.floor(request.nowMs / 1_000),
    currency: "usd",
    customer: `cus_${digitsOf(request.eventId, "cus", 14)}`,
    latest_charge: `ch_${digitsOf(request.eventId, "ch", 24)}`,
    metadata: {},
    status,
  };
}

function charge(request: SampleRequest): unknown {
  const amount = amountOf(request.eventId);
  return {
    id: `ch_${digitsOf(request.eventId, "ch", 24)}`,
    object: "charge",
    amount,
    amount_refunded: amount,
    currency: "usd",
    paid: true,
    payment_intent: `pi_${digitsOf(request.eventId, "pi", 24)}`,
    refunded: true,
    status: "succeeded",
  };
}

function customer(request: SampleRequest): unknown {
  const digits = digitsOf(request.eventId, "cus", 14);
  return {
    id: `cus_${digits}`,
    object: "customer",
    email: `customer-${digits}@example.com`,
    name: `Customer ${digits.slice(0, 4)}`,
    created: Math.floor(request.nowMs / 1_000),
  };
}

export const stripeSamples = defineSamples(
  {
    "payment_intent.succeeded": (request) => event(request, paymentIntent(request, "succeeded")),
    "payment_intent.payment_failed": (request) =>
      event(request, paymentIntent(request, "requires_payment_method")),
    "charge.refunded": (request) => event(request, charge(request)),
    "customer.created": (request) => event(request, customer(request)),
  },
  (request) => event(request, { id: `obj_${digitsOf(request.eventId, "obj", 14)}` }),
);
