import type { EventKey } from "@millrace/core";

/** A key as one string, for maps. A source holds no NUL, so no two keys meet. */
export function keyText(key: EventKey): string {
  return `${key.source}\0${key.generation}\0${key.eventId}`;
}

/** Orders keys as the ledger's primary key does; rows taken in one order cannot deadlock. */
export function compareKeys(a: EventKey, b: EventKey): number {
  return (
    Buffer.compare(Buffer.from(a.source), Buffer.from(b.source)) ||
    Buffer.compare(Buffer.from(a.eventId), Buffer.from(b.eventId)) ||
    a.generation - b.generation
  );
}
