import { createHash } from "node:crypto";

/**
 * BullMQ keeps a job under `<prefix>:<queue>:<job id>`, the name space of its own keys (`meta`,
 * `active`, `stalled-check`), and reads `""`, integers and colons in its own way. A raw id can so be
 * swallowed, or stop the whole queue. None of BullMQ's names holds a digit or an underscore, so an
 * id that does is safe as it is, and readable in the dashboard.
 */
const SAFE = /^[A-Za-z0-9_.-]{1,128}$/;
const UNLIKE_A_KEY = /[0-9_]/;
const INTEGER = /^-?[0-9]+$/;
/** What this function itself puts in front: an id that begins so could collide with another's. */
const OURS = /^(?:h|g[0-9]+)-/;

/**
 * The BullMQ job id of an event: the event id itself where that is safe, else `h-` and its SHA-256;
 * a later generation has `g<n>-` in front. Two events of a source never share one.
 */
export function jobId(eventId: string, generation: number): string {
  const first = isSafe(eventId) ? eventId : `h-${sha256(eventId)}`;
  return generation === 0 ? first : `g${generation}-${first}`;
}

function isSafe(eventId: string): boolean {
  return (
    SAFE.test(eventId) &&
    UNLIKE_A_KEY.test(eventId) &&
    !INTEGER.test(eventId) &&
    !OURS.test(eventId)
  );
}

function sha256(eventId: string): string {
  return createHash("sha256").update(eventId).digest("base64url");
}
