import { createHash, hash } from "node:crypto";
import type { SignedMessage } from "./provider.ts";

export const EVENT_STATUSES = ["pending", "completed", "failed"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

export const OUTCOMES = ["handled", "ignored"] as const;
export type Outcome = (typeof OUTCOMES)[number];

export interface EventLookup {
  readonly source: string;
  /** The sender's id as documented by its provider; parts are joined with `|`. */
  readonly eventId: string;
  /** 0 as received; each replay adds one. */
  readonly generation?: number | undefined;
}

export interface EventKey extends EventLookup {
  readonly generation: number;
}

export const TENANT = /^[A-Za-z0-9_-]{1,64}$/;

/** No two tenants share an id: a tenant has no `/`. */
export function tenantEventId(tenant: string | undefined, eventId: string): string {
  return tenant === undefined ? eventId : `${tenant}/${eventId}`;
}

export function tenantOf(eventId: string): string | undefined {
  return /^([\w-]+)\//.exec(eventId)?.[1];
}

/** Of an event that a person edited and sent: the id of the event that was edited. */
export const EDITED_HEADER = "millrace-edited-from";
/** Between that id and a number. */
export const EDITED_MARK = ".edited-";

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
  /** SHA-256 of an unsigned id's signed message, where that is not the body. */
  readonly digest?: string | undefined;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array | undefined;
}

/** An event that was verified and identified, on its way to an event store, with its body. */
export interface IncomingEvent extends EnvelopedEvent {
  readonly body: Uint8Array;
}

export interface EmittedEvent extends IncomingEvent {
  /** Undefined for an alert. */
  readonly parent: EventKey | undefined;
  readonly afterMs: number;
}

export const EVENT_ID_BYTES_MAX = 1_024;
export const EVENT_TYPE_BYTES_MAX = 256;
/** The last generation that a column of type `integer` holds. */
export const GENERATION_MAX = 2_147_483_647;
/** The last millisecond that both a JavaScript Date and a Postgres timestamptz hold. */
export const TIME_MAX_MS = 8_640_000_000_000_000;

/** True for text that Postgres can store: without NUL, and without half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}

export function areStorable(texts: readonly (string | undefined)[]): boolean {
  return texts.every((text) => text === undefined || isStorable(text));
}

export function isStorableWithin(text: string, bytesMax: number): boolean {
  return (
    text !== "" &&
    text.length <= bytesMax &&
    Buffer.byteLength(text) <= bytesMax &&
    isStorable(text)
  );
}

export function matchesType(type: string, pattern: string): boolean {
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

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

export function signedDigest(event: EnvelopedEvent): string {
  return event.digest ?? event.bodyHash;
}
