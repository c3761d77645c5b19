import { jsonOf, MillraceError, type EventKey } from "@millrace/core";

export interface Cursor {
  /** Postgres' own text, since a Date has no microseconds. */
  readonly recordedAt: string;
  readonly key: EventKey;
}

export function writeCursor({ recordedAt, key }: Cursor): string {
  const { source, eventId, generation } = key;
  return Buffer.from(JSON.stringify([recordedAt, source, eventId, generation])).toString(
    "base64url",
  );
}

/** @throws `invalid_request` */
export function readCursor(text: string): Cursor {
  const parts = jsonOf(Buffer.from(text, "base64url").toString());
  if (Array.isArray(parts) && parts.length === 4) {
    const [recordedAt, source, eventId, generation] = parts as unknown[];
    if (
      typeof recordedAt === "string" &&
      /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$/.test(recordedAt) &&
      typeof source === "string" &&
      typeof eventId === "string" &&
      !`${source}${eventId}`.includes("\0") &&
      Number.isSafeInteger(generation) &&
      Math.abs(Number(generation)) < 2 ** 31
    ) {
      return { recordedAt, key: { source, eventId, generation: Number(generation) } };
    }
  }
  throw new MillraceError("invalid_request", "Cannot continue from the cursor: it is not valid");
}
