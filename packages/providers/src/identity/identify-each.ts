import type { Delivery, Identification, IdentifiedEvent, Refusal } from "@millrace/core";
import { refuse } from "../refuse.ts";
import { readDelivery } from "./delivery-reader.ts";
import { jsonPieces } from "./json-pieces.ts";

/** Far above what fits into a real delivery of any sender here; each costs a row. */
const EVENTS_MAX = 10_000;

/** Reads deliveries that carry many events: `split` gives the body of each. One that has no id refuses all. */
export function identifyEach(
  split: (delivery: Delivery) => readonly Uint8Array[] | Refusal,
  identify: (delivery: Delivery) => Identification,
): (delivery: Delivery) => Identification {
  return (delivery) => {
    const bodies = split(delivery);
    if ("ok" in bodies) return bodies;
    if (bodies.length > EVENTS_MAX) {
      return refuse("invalid_body", `Cannot take the delivery: it has over ${EVENTS_MAX} events`);
    }
    const events: IdentifiedEvent[] = [];
    for (const body of bodies) {
      const found = identify({ ...delivery, body });
      if (!found.ok || found.kind !== "events") return found;
      events.push(...found.events.map((event) => ({ ...event, body: event.body ?? body })));
    }
    return { ok: true, kind: "events", events };
  };
}

/** The items of a body that is a JSON array, each as the bytes that came. */
export function arrayItems(delivery: Delivery): readonly Uint8Array[] | Refusal {
  const bytes = readDelivery(delivery).jsonBytes([]);
  if (typeof bytes === "string")
    return refuse("invalid_body", "Cannot read the body: it is not JSON");
  const pieces = jsonPieces(bytes);
  const isArray = /^[\ufeff\s]*\[/.test(Buffer.from(bytes.subarray(0, 64)).toString("utf8"));
  if (!isArray) return refuse("invalid_body", "Cannot read the body: it is not a JSON array");
  return pieces.map((piece) => piece.bytes);
}
