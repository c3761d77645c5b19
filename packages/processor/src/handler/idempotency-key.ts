import { hash } from "node:crypto";
import type { EventKey } from "@millrace/core";

/** Stripe takes 255 characters at most, and others fewer. */
const KEY_CHARS_MAX = 200;

/**
 * The key of an event in other systems: the same in each attempt, another in each replay. Dots
 * separate, so those of a part are escaped: no two events or steps have one key.
 */
export function eventIdempotencyKey({ source, eventId, generation }: EventKey): string {
  return bounded(`${escaped(source)}.${escaped(eventId)}.${generation}`);
}

export function stepIdempotencyKey(eventKey: string, step: string): string {
  return bounded(`${eventKey}.${escaped(step)}`);
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll(".", "%2E");
}

/** A key goes into an HTTP header, which takes visible ASCII. */
function bounded(key: string): string {
  const fits = key.length <= KEY_CHARS_MAX && /^[\x21-\x7e]+$/.test(key);
  return fits ? key : hash("sha256", key, "base64url");
}
