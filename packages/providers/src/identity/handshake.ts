import type { Answer, Delivery, Identification, Refusal } from "@millrace/core";
import { refuse } from "../refuse.ts";
import { readDelivery, type DeliveryReader } from "./delivery-reader.ts";

/** Reads deliveries of which some are handshakes: `answerTo` gives their answer, or undefined for an event. */
export function withHandshake(
  answerTo: (reader: DeliveryReader) => Answer | Refusal | undefined,
  identify: (delivery: Delivery) => Identification,
): (delivery: Delivery) => Identification {
  return (delivery) => {
    const answer = answerTo(readDelivery(delivery));
    if (answer === undefined) return identify(delivery);
    return "ok" in answer ? answer : { ok: true, kind: "handshake", answer };
  };
}

/** The refusal of a handshake whose challenge is none. */
export function noChallenge(): Refusal {
  return refuse("invalid_body", "Cannot answer the handshake: it holds no challenge");
}
