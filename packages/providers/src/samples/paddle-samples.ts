import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function notification(request: SampleRequest, data: unknown): unknown {
  return {
    event_id: request.eventId,
    event_type: request.type,
    occurred_at: new Date(request.nowMs).toISOString(),
    notification_id: `ntf_${digitsOf(request.eventId, "ntf", 26)}`,
    data,
  };
}

function transaction(request: SampleRequest): unknown {
  const total = String(amountOf(request.eventId));
  return notification(request, {
    id: `txn_${digitsOf(request.eventId, "txn", 26)}`,
    status: request.type === "transaction.completed" ? "completed" : "paid",
    customer_id: `ctm_${digitsOf(request.eventId, "ctm", 26)}`,
    currency_code: "EUR",
    origin: "web",
    details: { totals: { subtotal: total, tax: "0", total } },
  });
}

function subscription(request: SampleRequest): unknown {
  return notification(request, {
    id: `sub_${digitsOf(request.eventId, "sub", 26)}`,
    status: request.type === "subscription.canceled" ? "canceled" : "active",
    customer_id: `ctm_${digitsOf(request.eventId, "ctm", 26)}`,
    currency_code: "EUR",
    billing_cycle: { interval: "month", frequency: 1 },
  });
}

export const paddleSamples = defineSamples(
  {
    "transaction.completed": transaction,
    "transaction.paid": transaction,
    "subscription.created": subscription,
    "subscription.canceled": subscription,
  },
  (request) => notification(request, {}),
);
