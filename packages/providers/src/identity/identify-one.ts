import {
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  type Delivery,
  type ErrorCode,
  type Identification,
  type Refusal,
} from "@millrace/core";
import { refuse } from "../refuse.ts";
import { readDelivery, type Found } from "./delivery-reader.ts";
import type { Locator } from "./locator.ts";

/** The type of an event whose sender need not name one. */
const UNKNOWN_TYPE = "unknown";

/** Reads deliveries that carry one event, whose body is the delivery's. */
export function identifyOne(places: {
  readonly id: Locator;
  readonly type: Locator;
  /** True where the sender need not name a type: it is `unknown` then. */
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
    `Cannot read the event ${what}: it is not 1 to ${bytesMax} bytes of UTF-8 text without NUL`,
  );
}
