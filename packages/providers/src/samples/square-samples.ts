import { amountOf, defineSamples, digitsOf, type SampleRequest } from "./define-samples.ts";

function event(request: SampleRequest, type: string, object: Record<string, unknown>): unknown {
  const id = digitsOf(request.eventId, type, 24);
  return {
    merchant_id: "MLEFBHHSJGVHD",
    location_id: "LH2MR4FPFPFVE",
    type: request.type,
    event_id: request.eventId,
    created_at: new Date(request.nowMs).toISOString(),
    data: { type, id, object: { [type]: { id, ...object } } },
  };
}

function payment(request: SampleRequest): unknown {
  return event(request, "payment", {
    amount_money: { amount: amountOf(request.eventId), currency: "USD" },
    created_at: new Date(request.nowMs).toISOString(),
    source_type: "CARD",
    status: request.type === "payment.created" ? "APPROVED" : "COMPLETED",
  });
}

export const squareSamples = defineSamples(
  {
    "payment.updated": payment,
    "payment.created": payment,
    "refund.created": (request) =>
      event(request, "refund", {
        amount_money: { amount: amountOf(request.eventId), currency: "USD" },
        payment_id: digitsOf(request.eventId, "payment", 24),
        status: "PENDING",
      }),
    "customer.created": (request) =>
      event(request, "customer", { given_name: "Ada", family_name: "Lovelace" }),
  },
  (request) => event(request, "object", {}),
);
