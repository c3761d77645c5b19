import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { z } from "zod";
import { MillraceError } from "./errors.ts";

/** The states of an event in the ledger (pending, then completed or failed). */
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

/** SHA-256 of a body, base64url without padding: 43 characters. */
export function bodyHash(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}

/** Bytes of UTF-8 that an event id may take. */
export const EVENT_ID_BYTES_MAX = 1_024;
/** Bytes of UTF-8 that an event type may take. */
export const EVENT_TYPE_BYTES_MAX = 256;

/**
 * True for text that Postgres stores as it is: without NUL, which its text has none of, and without
 * half a surrogate pair, which UTF-8 cannot hold.
 */
export function isStorable(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}

/** Whether text can be kept as an id or a type: storable, not empty, and within its bytes. */
export function isStorableWithin(text: string, bytesMax: number): boolean {
  return (
    text !== "" &&
    text.length <= bytesMax &&
    Buffer.byteLength(text) <= bytesMax &&
    isStorable(text)
  );
}

/**
 * The version of the job data that this build writes. A worker that meets a later one leaves the
 * job for a newer worker (`unknown_envelope_version`).
 */
export const ENVELOPE_VERSION = 1;

const envelopeSchema = z.object({
  v: z.literal(ENVELOPE_VERSION),
  source: z.string().min(1),
  id: z.string().min(1),
  type: z.string().min(1),
  generation: z.int().nonnegative(),
  accepted_at: z.number(),
  body_hash: z.string().length(43),
  headers: z.record(z.string(), z.string()),
  unsigned: z.boolean(),
  body: z.string().optional(),
  body_encoding: z.enum(["utf8", "base64"]).optional(),
});

/**
 * A job's data: the event's identity, and its body unless the ledger has it. Plain JSON. The body
 * is text where it is valid UTF-8 and base64 where it is not, so that the bytes survive.
 */
export type Envelope = z.infer<typeof envelopeSchema>;

interface EnvelopeOptions {
  /** Leaves the body and the headers to the ledger. */
  readonly identityOnly?: boolean;
}

/** Writes an event as job data. */
export function toEnvelope(event: IncomingEvent, options?: EnvelopeOptions): Envelope {
  if (options?.identityOnly === true) return identityOf(event, {});
  return { ...identityOf(event, { ...event.headers }), ...bodyOf(event) };
}

/**
 * Writes an event as job data in JSON: the text that `JSON.stringify(toEnvelope(event))` gives. A body is most
 * of it, and a text by itself is written in half the time that a property of an object takes.
 */
export function toEnvelopeText(event: IncomingEvent, options?: EnvelopeOptions): string {
  if (options?.identityOnly === true) return JSON.stringify(identityOf(event, {}));
  const { body, body_encoding } = bodyOf(event);
  const identity = JSON.stringify(identityOf(event, event.headers)).slice(0, -1);
  return `${identity},"body":${JSON.stringify(body)},"body_encoding":"${body_encoding}"}`;
}

function identityOf(event: IncomingEvent, headers: Envelope["headers"]) {
  return {
    v: ENVELOPE_VERSION,
    source: event.source,
    id: event.eventId,
    type: event.type,
    generation: event.generation,
    accepted_at: event.acceptedAtMs,
    body_hash: event.bodyHash,
    unsigned: event.unsigned,
    headers,
  } as const;
}

function bodyOf({ body }: IncomingEvent) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return { body: bytes.toString(encoding), body_encoding: encoding } as const;
}

/**
 * Reads job data back. Nothing of it is trusted: a job may have been edited or added by hand.
 *
 * @throws `invalid_envelope` when it is not an envelope, `unknown_envelope_version` when it is a
 * later one.
 */
export function fromEnvelope(data: unknown): EnvelopedEvent {
  const version = isRecord(data) ? data["v"] : undefined;
  if (typeof version === "number" && version > ENVELOPE_VERSION) {
    throw new MillraceError(
      "unknown_envelope_version",
      `Cannot read job data: envelope version ${version} is later than ${ENVELOPE_VERSION}`,
    );
  }
  const parsed = envelopeSchema.safeParse(data);
  if (!parsed.success) {
    throw new MillraceError("invalid_envelope", "Cannot read job data: it is not an envelope", {
      cause: parsed.error,
    });
  }
  return fromParsed(parsed.data);
}

function fromParsed(envelope: Envelope): EnvelopedEvent {
  return {
    source: envelope.source,
    eventId: envelope.id,
    type: envelope.type,
    generation: envelope.generation,
    acceptedAtMs: envelope.accepted_at,
    bodyHash: envelope.body_hash,
    headers: envelope.headers,
    unsigned: envelope.unsigned,
    body:
      envelope.body === undefined
        ? undefined
        : Buffer.from(envelope.body, envelope.body_encoding ?? "utf8"),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
