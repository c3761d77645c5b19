import {
  type Answer,
  type Delivery,
  type ErrorCode,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  type Identification,
  type IdentifiedEvent,
  isStorableWithin,
  type Refusal,
  jsonPieces,
} from "@millrace/core";
import { type DeliveryReader, type Found, type Locator, readDelivery } from "./delivery-reader.ts";
import { refuse } from "../answers.ts";

const UNKNOWN_TYPE = "unknown";

export function identifyOne(places: {
  readonly id: Locator;
  readonly type: Locator;
  readonly typeIsOptional?: boolean;
}): (delivery: Delivery) => Identification {
  return (delivery) => {
    const reader = readDelivery(delivery);
    const eventId = textOf(places.id(reader), "invalid_event_id", EVENT_ID_BYTES_MAX);
    if (typeof eventId !== "string") return eventId;
    const found = places.type(reader);
    const type =
      found === "missing" && places.typeIsOptional === true
        ? UNKNOWN_TYPE
        : textOf(found, "invalid_event_type", EVENT_TYPE_BYTES_MAX);
    if (typeof type !== "string") return type;
    return { ok: true, kind: "events", events: [{ eventId, type }] };
  };
}

function textOf(found: Found, code: ErrorCode, bytesMax: number): string | Refusal {
  const what = code === "invalid_event_id" ? "id" : "type";
  if (found === "not_json") return refuse("invalid_body", "Cannot read the body: it is not JSON");
  if (found === "missing") return refuse(code, `Cannot read the event ${what}: it is missing`);
  if (found !== "malformed" && isStorableWithin(found.text, bytesMax)) return found.text;
  return refuse(
    code,
    `Cannot read the event ${what}: it must be 1 to ${bytesMax} bytes of UTF-8 text without NUL, or a whole number`,
  );
}

/** Far above what fits into a real delivery of any sender here; each costs a row. */
const EVENTS_MAX = 10_000;

/** One event without an id refuses all. */
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

/** `answerTo` gives the answer of a handshake, or undefined for an event. */
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

/** The refusal of a handshake without a challenge. */
export function noChallenge(): Refusal {
  return refuse("invalid_body", "Cannot answer the handshake: it holds no challenge");
}
