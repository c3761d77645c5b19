import { isUtf8 } from "node:buffer";
import { createHash, hash } from "node:crypto";
import { z } from "zod";
import { MillraceError } from "./errors.ts";
import type { SignedMessage } from "./provider.ts";
import type { QueueKeys } from "./queue-keys.ts";

/** The states of an event in the ledger (pending, then completed or failed). */
export const EVENT_STATUSES = ["pending", "completed", "failed"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/**
 * How a completed event came to be completed: a handler ran; none was registered for its type; or
 * another event of the source, whose id is not signed either, had the very same signed message.
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
   * Of an unsigned id: SHA-256 of the signed message, base64url without padding, where that message is another than
   * the body. It names what was signed under whatever id it comes. See `signedDigest`.
   */
  readonly digest?: string | undefined;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array | undefined;
}

/** An event that was verified and identified, on its way to an event store: its body is always there. */
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

/** SHA-256 of a body, base64url without padding: 43 characters. */
export function bodyHash(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}

/**
 * The digest of what was signed, for an event whose id is not signed. Where the message is the body alone, its hash is the
 * digest already.
 */
export function signedDigest(event: EnvelopedEvent): string {
  return event.digest ?? event.bodyHash;
}

/** SHA-256 of a signed message, base64url without padding. */
export function messageDigest(message: SignedMessage): string {
  const state = createHash("sha256");
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest("base64url");
}

/** The digest of one of several events that came in one signed message, by its place among them. */
export function placeDigest(digest: string, place: number): string {
  return hash("sha256", `${digest}#${place}`, "base64url");
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

/** The last generation that a column of type `integer` holds. */
const GENERATION_MAX = 2_147_483_647;
/** The last millisecond that both a JavaScript Date and a Postgres timestamptz hold. */
const TIME_MAX_MS = 8_640_000_000_000_000;

const envelopeSchema = z.object({
  v: z.literal(ENVELOPE_VERSION),
  source: z.string().min(1),
  id: z.string().min(1),
  type: z.string().min(1),
  // As the ledger's columns: a value that they cannot hold would fail whoever looks the event up.
  generation: z.int().min(0).max(GENERATION_MAX),
  accepted_at: z.number().min(0).max(TIME_MAX_MS),
  body_hash: z.string().length(43),
  headers: z.record(z.string(), z.string()),
  unsigned: z.boolean(),
  /** Added without a new version: a worker of a build that does not know them leaves them out. */
  digest: z.string().length(43).optional(),
  kid: z.string().optional(),
  mac: z.string().optional(),
  headers_hash: z.string().optional(),
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
  /** Sign the job. Without keys it carries no MAC. */
  readonly keys?: QueueKeys | undefined;
}

/** Writes an event as job data. */
export function toEnvelope(event: IncomingEvent, options: EnvelopeOptions = {}): Envelope {
  const { identityOnly = false, keys } = options;
  const headers = identityOnly ? {} : { ...event.headers };
  const identity = identityOf(
    event,
    keys && (identityOnly ? IN_LEDGER : headersHash(JSON.stringify(headers))),
  );
  const seal = keys && { kid: keys.kid, mac: keys.sign(JSON.stringify(identity)) };
  return { ...identity, ...seal, headers, ...(identityOnly ? {} : bodyOf(event)) };
}

/**
 * Writes an event as job data in JSON: the text that `JSON.stringify(toEnvelope(event))` gives. A body is most
 * of it, and a text by itself is written in half the time that a property of an object takes. What is signed is
 * the beginning of it.
 */
export function toEnvelopeText(event: IncomingEvent, options: EnvelopeOptions = {}): string {
  const { identityOnly = false, keys } = options;
  const headers = identityOnly ? "{}" : JSON.stringify(event.headers);
  const hashOfHeaders = keys && (identityOnly ? IN_LEDGER : headersHash(headers));
  const identity = JSON.stringify(identityOf(event, hashOfHeaders));
  const seal = keys === undefined ? "" : `,"kid":"${keys.kid}","mac":"${keys.sign(identity)}"`;
  const text = `${identity.slice(0, -1)}${seal},"headers":${headers}`;
  if (identityOnly) return `${text}}`;
  const { body, body_encoding } = bodyOf(event);
  return `${text},"body":${JSON.stringify(body)},"body_encoding":"${body_encoding}"}`;
}

/** The hash of the headers of a job that has none: they are in the ledger, and no headers match it. */
const IN_LEDGER = "";

/** SHA-256 of headers as JSON. A job's headers keep their order. */
function headersHash(headers: string): string {
  return hash("sha256", headers, "base64url");
}

/**
 * What is signed of an event, as JSON: always these fields in this order, so that no two events have one text.
 * The hashes stand for body and headers, which leave the job when the ledger has them.
 */
function identityOf(
  event: EnvelopedEvent,
  hashOfHeaders: string | undefined,
  v: Envelope["v"] = ENVELOPE_VERSION,
) {
  return {
    v,
    source: event.source,
    id: event.eventId,
    type: event.type,
    generation: event.generation,
    accepted_at: event.acceptedAtMs,
    body_hash: event.bodyHash,
    unsigned: event.unsigned,
    // JSON leaves out what is undefined.
    digest: event.digest,
    headers_hash: hashOfHeaders,
  } as const;
}

function bodyOf({ body }: IncomingEvent) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return { body: bytes.toString(encoding), body_encoding: encoding } as const;
}

/** Why a job is not known to be one that Millrace wrote: it has no MAC, or not the one of a live key. */
export type MacProblem = "missing" | "wrong";

/** An event as its job says it, and whether the job may be believed. */
export interface ReadEnvelope {
  readonly event: EnvelopedEvent;
  /** Undefined when the MAC is valid, or when there are no keys. */
  readonly mac: MacProblem | undefined;
}

/**
 * Reads job data back and checks its MAC. Nothing of it is trusted before: a job may have been edited or added
 * by hand.
 *
 * @throws `invalid_envelope` when it is not an envelope, `unknown_envelope_version` when it is a
 * later one.
 */
export function readEnvelope(data: unknown, keys: QueueKeys | undefined): ReadEnvelope {
  const envelope = parseEnvelope(data);
  const event = fromParsed(envelope);
  return { event, mac: keys && macProblem(envelope, event, keys) };
}

/** Reads job data back as `readEnvelope` does, without its MAC. */
export function fromEnvelope(data: unknown): EnvelopedEvent {
  return fromParsed(parseEnvelope(data));
}

function parseEnvelope(data: unknown): Envelope {
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
  return parsed.data;
}

function macProblem(
  { v, kid, mac, headers_hash, headers, body }: Envelope,
  event: EnvelopedEvent,
  keys: QueueKeys,
): MacProblem | undefined {
  if (kid === undefined || mac === undefined || headers_hash === undefined) return "missing";
  // A job that was stripped has neither body nor headers, and keeps both hashes.
  const hasHeaders = body !== undefined || Object.keys(headers).length > 0;
  if (hasHeaders && headersHash(JSON.stringify(headers)) !== headers_hash) return "wrong";
  const text = JSON.stringify(identityOf(event, headers_hash, v));
  return keys.verify(text, { kid, mac }) ? undefined : "wrong";
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
    digest: envelope.digest,
    body:
      envelope.body === undefined
        ? undefined
        : Buffer.from(envelope.body, envelope.body_encoding ?? "utf8"),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
