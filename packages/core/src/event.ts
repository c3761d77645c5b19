/** The states of an event in the ledger (DESIGN: pending, then completed or failed). */
export const EVENT_STATUSES = ["pending", "completed", "failed"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/**
 * How a completed event came to be completed: a handler ran; none was registered for its type; or
 * another event of the source, whose id is not signed either, had the very same body.
 */
export const OUTCOMES = ["handled", "ignored", "suspected_replay"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * What tells one event from every other: the sender's id within a source, and the generation
 * (0 as received; each replay adds one).
 */
export interface EventKey {
  readonly source: string;
  /** The sender's id as documented by its provider; parts are joined with `|`. */
  readonly eventId: string;
  readonly generation: number;
}

/** An event that was verified and identified, on its way to a durable place. */
export interface IncomingEvent extends EventKey {
  readonly type: string;
  /** The ingress's clock, in milliseconds since the epoch. Shown, never decided upon. */
  readonly acceptedAtMs: number;
  /** SHA-256 of the body, base64url without padding (43 characters). */
  readonly bodyHash: string;
  /** The few headers that the provider names, lower-case. Never a signature or a credential. */
  readonly headers: Readonly<Record<string, string>>;
  /** True when the id stands outside what the signature covers (GitHub's delivery id). */
  readonly unsigned: boolean;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array;
}
