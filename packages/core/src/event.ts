/** The states of an event in the ledger (DESIGN: pending, then completed or failed). */
export const EVENT_STATUSES = ["pending", "completed", "failed"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/**
 * How a completed event came to be completed: a handler ran; none was registered for its type; or
 * another event of the source, whose id is not signed either, had the very same body.
 */
export const OUTCOMES = ["handled", "ignored", "suspected_replay"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Which event is meant; without a generation it is the latest one. */
export interface EventLookup {
  readonly source: string;
  /** The sender's id as documented by its provider; parts are joined with `|`. */
  readonly eventId: string;
  /** 0 as received; each replay adds one. */
  readonly generation?: number | undefined;
}

/** The identity of an event: the sender's id within a source, and the generation. */
export interface EventKey extends EventLookup {
  readonly generation: number;
}

/** An event as its job carries it. The body may be in the ledger only. */
export interface EnvelopedEvent extends EventKey {
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
  readonly body: Uint8Array | undefined;
}

/** An event that was verified and identified, on its way to an event store: its body is always there. */
export interface IncomingEvent extends EnvelopedEvent {
  readonly body: Uint8Array;
}
