import type { EventKey } from "@millrace/core";

/** A key as text, to look it up by. */
export function keyName({ source, eventId, generation }: EventKey): string {
  return JSON.stringify([source, eventId, generation]);
}
