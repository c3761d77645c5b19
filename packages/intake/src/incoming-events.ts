import {
  bodyHash,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPE_BYTES_MAX,
  isStorableWithin,
  messageDigest,
  partDigest,
  tenantEventId,
  type Delivery,
  type IdentifiedEvent,
  type IncomingEvent,
  type SignedMessage,
} from "@millrace/core";
import { rejection, type Received } from "./received.ts";
import type { ReadySource } from "./sources.ts";

interface Origin {
  readonly delivery: Delivery;
  readonly signed: SignedMessage | undefined;
  /** Of the span that receives the delivery. */
  readonly traceparent: string | undefined;
}

export function toIncomingEvents(
  source: ReadySource,
  { delivery, signed, traceparent }: Origin,
  identified: readonly IdentifiedEvent[],
): readonly IncomingEvent[] {
  const headers = keptHeaders(delivery.headers, source.provider.keptHeaders);
  if (traceparent !== undefined) headers["traceparent"] = traceparent;
  const digests = source.provider.idIsSigned ? NO_DIGESTS : digestsOf(signed, delivery, identified);
  return identified.map((event, place) => {
    const body = event.body ?? delivery.body;
    return {
      source: source.name,
      eventId: tenantEventId(delivery.tenant, event.eventId),
      generation: 0,
      type: event.type,
      acceptedAtMs: delivery.receivedAtMs,
      bodyHash: bodyHash(body),
      headers,
      unsigned: !source.provider.idIsSigned,
      digest: digests[place],
      body,
    };
  });
}

const NO_DIGESTS: readonly string[] = [];

/** None for a single event, without a tenant, of which its body alone was signed. */
function digestsOf(
  signed: SignedMessage | undefined,
  { body, tenant }: Delivery,
  events: readonly IdentifiedEvent[],
): readonly string[] {
  const isWhole = events.length === 1 && (events[0]?.body ?? body) === body;
  if (isWhole && signed === undefined && tenant === undefined) return NO_DIGESTS;
  const digest = messageDigest([tenantEventId(tenant, ""), ...(signed ?? [body])]);
  return events.length === 1 ? [digest] : events.map((_, index) => partDigest(digest, index));
}

function keptHeaders(
  headers: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** A provider of a user's own may return anything. */
export function refuseIdentity(
  { eventId, type }: IdentifiedEvent,
  { tenant }: Pick<Delivery, "tenant">,
): Received | undefined {
  const idBytesMax = EVENT_ID_BYTES_MAX - tenantEventId(tenant, "").length;
  if (!isText(eventId, idBytesMax)) {
    const why = `it has no event id of 1 to ${idBytesMax} bytes of UTF-8`;
    return rejection("invalid_event_id", `Cannot identify the event: ${why}`);
  }
  if (isText(type, EVENT_TYPE_BYTES_MAX)) return undefined;
  const why = `its type is not 1 to ${EVENT_TYPE_BYTES_MAX} bytes of UTF-8`;
  return rejection("invalid_event_type", `Cannot identify the event: ${why}`);
}

function isText(text: unknown, bytesMax: number): boolean {
  return typeof text === "string" && isStorableWithin(text, bytesMax);
}
