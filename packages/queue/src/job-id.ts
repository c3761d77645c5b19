import { createHash } from "node:crypto";

const QUEUE_PREFIX = "millrace-";

/** The BullMQ queue of a source. */
export function queueName(source: string): string {
  return `${QUEUE_PREFIX}${source}`;
}

/**
 * BullMQ keeps a job under `<prefix>:<queue>:<job id>`, the namespace of its own keys (`meta`,
 * `active`, `stalled-check`), and gives `""`, integers and colons a meaning of its own. A raw id could
 * be swallowed, or stop the whole queue. No name of BullMQ's has a digit or an underscore, so an
 * id that has one is safe as it is, and readable in the dashboard.
 */
const SAFE = /^[A-Za-z0-9_.-]{1,128}$/;
const UNLIKE_A_KEY = /[0-9_]/;
const INTEGER = /^-?[0-9]+$/;
/** The prefixes that `jobId` itself adds: a raw id that begins with one could equal another event's job id. */
const OURS = /^(?:h|g[0-9]+)-/;

/**
 * The BullMQ job id of an event, by which the queue refuses a second job: the event id itself where that
 * is safe, else `h-` and its SHA-256; a later generation has the prefix `g<n>-`. Two events of a source
 * never share one.
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
