import type { EnvelopedEvent, IncomingEvent } from "@millrace/core";

/** Events as the parameters $1 to $11 of the statements that take them in. */
export function packEvents(events: readonly (IncomingEvent | EnvelopedEvent)[]): unknown[] {
  const bodies: Uint8Array[] = [];
  const from: (number | null)[] = [];
  const length: (number | null)[] = [];
  let offset = 1;
  for (const { body } of events) {
    from.push(body === undefined ? null : offset);
    length.push(body === undefined ? null : body.byteLength);
    if (body === undefined) continue;
    bodies.push(body);
    offset += body.byteLength;
  }
  return [
    events.map((event) => event.source),
    events.map((event) => event.eventId),
    events.map((event) => event.generation),
    events.map((event) => event.type),
    events.map((event) => event.bodyHash),
    events.map((event) => event.unsigned),
    events.map((event) => event.acceptedAtMs),
    events.map((event) => JSON.stringify(event.headers)),
    from,
    length,
    Buffer.concat(bodies),
  ];
}

const EVENTS_MAX = 500;
const BYTES_MAX = 16 * 1024 * 1024;

/** Cuts a list so that no statement holds more than 500 events or, but for a single one, 16 MiB. */
export function chunkEvents<Item>(
  items: readonly Item[],
  eventOf: (item: Item) => IncomingEvent | EnvelopedEvent,
): Item[][] {
  const chunks: Item[][] = [];
  let chunk: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = eventOf(item).body?.byteLength ?? 0;
    if (chunk.length >= EVENTS_MAX || (chunk.length > 0 && bytes + size > BYTES_MAX)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}
