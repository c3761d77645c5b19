import type { IngressConfig } from "@millrace/core";

/** The part of an answer's time that its durable places share; the rest is for a retry, and for us. */
const PLACING_SHARE = 0.8;

/** Milliseconds that each of so many durable places has for a delivery. */
export function placeTimeoutMs(
  { answerTimeoutMs }: Pick<IngressConfig, "answerTimeoutMs">,
  places: number,
): number {
  return (answerTimeoutMs * PLACING_SHARE) / places;
}
