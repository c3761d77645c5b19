import { createHash, hash } from "node:crypto";
import type { SignedMessage } from "./provider.ts";

/** The states of an event in the ledger (pending, then completed or failed). */
export const EVENT_STATUSES = ["pending", "completed", "failed"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/**
 * The reason of completion: a handler ran; no handler is registered for its type; or another event
 * of the source, with an unsigned id too, had the same signed message.
 */
export const OUTCOMES = ["handled", "ignored", "suspected_replay"] as const;
export type Outcome = (typeof OUTCOMES)[number];

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

/** The key alone of an object that has one. */
export function keyOf({ source, eventId, generation }: EventKey): EventKey {
  return { source, eventId, generation };
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
  /**
   * Of an unsigned id: SHA-256 of the signed message, base64url without padding, where the message
   * is not the body alone: `signedDigest`.
   */
  readonly digest?: string | undefined;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array | undefined;
}

/** An event that was verified and identified, on its way to an event store, with its body. */
export interface IncomingEvent extends EnvelopedEvent {
  readonly body: Uint8Array;
}

/** An event of an internal source, as a handler emits it. */
export interface EmittedEvent extends IncomingEvent {
  /** The event whose handler emits it. */
  readonly parent: EventKey;
  /** Milliseconds after which it is to run, at the earliest; 0 for at once. */
  readonly afterMs: number;
}

/** Bytes of UTF-8 that an event id may take. */
export const EVENT_ID_BYTES_MAX = 1_024;
/** Bytes of UTF-8 that an event type may take. */
export const EVENT_TYPE_BYTES_MAX = 256;
/** The last generation that a column of type `integer` holds. */
export const GENERATION_MAX = 2_147_483_647;
/** The last millisecond that both a JavaScript Date and a Postgres timestamptz hold. */
export const TIME_MAX_MS = 8_640_000_000_000_000;

/** True for text that Postgres can store: without NUL, and without half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}

/** True for text that can be an id or a type: storable, not empty, and within its bytes. */
export function isStorableWithin(text: string, bytesMax: number): boolean {
  return (
    text !== "" &&
    text.length <= bytesMax &&
    Buffer.byteLength(text) <= bytesMax &&
    isStorable(text)
  );
}

// Every digest here is SHA-256 as base64url without padding: 43 characters.

export function bodyHash(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}

export function headersHash(headers: string): string {
  return hash("sha256", headers, "base64url");
}

export function messageDigest(message: SignedMessage): string {
  const state = createHash("sha256");
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest("base64url");
}

/** The digest of one of several events that came in one signed message, by its index. */
export function partDigest(digest: string, index: number): string {
  return hash("sha256", `${digest}#${index}`, "base64url");
}

/** The digest of an unsigned event's message; the body's hash where that is the message. */
export function signedDigest(event: EnvelopedEvent): string {
  return event.digest ?? event.bodyHash;
}
