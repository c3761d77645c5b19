import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  type Delivery,
  type IdentifiedEvent,
  type IncomingEvent,
  type Refusal,
} from "@millrace/core";
import type { ReadySource } from "./ready-sources.ts";

/** Whether any provider's id can be kept: 1 to 1,024 bytes of well-formed UTF-8 without NUL. */
export function refuseIdentity(identified: IdentifiedEvent): Refusal | undefined {
  if (!isText(identified.eventId, EVENT_ID_BYTES_MAX)) {
    return refusal(
      "invalid_event_id",
      `it has no event id of 1 to ${EVENT_ID_BYTES_MAX} bytes of UTF-8`,
    );
  }
  if (!isText(identified.type, EVENT_TYPE_BYTES_MAX)) {
    return refusal(
      "invalid_event_type",
      `its type is not 1 to ${EVENT_TYPE_BYTES_MAX} bytes of UTF-8`,
    );
  }
  return undefined;
}

/** The events of a verified delivery, as a durable place takes them. */
export function toIncomingEvents(
  source: ReadySource,
  delivery: Delivery,
  identified: readonly IdentifiedEvent[],
): readonly IncomingEvent[] {
  const headers = keptHeaders(delivery.headers, source.provider.keptHeaders);
  return identified.map((event) => {
    const body = event.body ?? delivery.body;
    return {
      source: source.name,
      eventId: event.eventId,
      generation: 0,
      type: event.type,
      acceptedAtMs: delivery.receivedAtMs,
      bodyHash: bodyHash(body),
      headers,
      unsigned: !source.provider.idIsSigned,
      body,
    };
  });
}

function keptHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

// A provider of a user's own may give anything.
function isText(text: unknown, bytesMax: number): boolean {
  return typeof text === "string" && isStorableWithin(text, bytesMax);
}

function refusal(code: "invalid_event_id" | "invalid_event_type", why: string): Refusal {
  return { ok: false, code, message: `Cannot identify the event: ${why}` };
}
