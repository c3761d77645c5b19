import { isStorable, type EventKey, type EventLookup } from "@millrace/core";

/** A key as one string, for maps. A source has no NUL, so two keys never collide. */
export function keyText(key: EventKey): string {
  return `${key.source}\0${key.generation}\0${key.eventId}`;
}

/** Orders keys like the primary key; rows that are always locked in one order cannot deadlock. */
export function compareKeys(a: EventKey, b: EventKey): number {
  return (
    Buffer.compare(Buffer.from(a.source), Buffer.from(b.source)) ||
    Buffer.compare(Buffer.from(a.eventId), Buffer.from(b.eventId)) ||
    a.generation - b.generation
  );
}

/** Keys as three parallel arrays, the first parameters of the statements on many events. */
export function packKeys(keys: readonly EventLookup[]): [string[], string[], (number | null)[]] {
  return [
    keys.map((key) => key.source),
    keys.map((key) => key.eventId),
    keys.map((key) => key.generation ?? null),
  ];
}

/** False for a key that Postgres cannot store, and that the ledger therefore does not have. */
export function isStorableKey({ source, eventId }: EventLookup): boolean {
  return isStorable(source) && isStorable(eventId);
}
