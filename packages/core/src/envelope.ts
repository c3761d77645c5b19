import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { MillraceError } from "./errors.ts";
import type { EnvelopedEvent, IncomingEvent } from "./event.ts";

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

/** Writes an event as job data. `identityOnly` leaves the body and the headers to the ledger. */
export function toEnvelope(event: IncomingEvent, options?: { identityOnly?: boolean }): Envelope {
  const identity = {
    v: ENVELOPE_VERSION,
    source: event.source,
    id: event.eventId,
    type: event.type,
    generation: event.generation,
    accepted_at: event.acceptedAtMs,
    body_hash: event.bodyHash,
    unsigned: event.unsigned,
  } as const;
  if (options?.identityOnly === true) return { ...identity, headers: {} };
  const bytes = Buffer.from(event.body.buffer, event.body.byteOffset, event.body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return {
    ...identity,
    headers: { ...event.headers },
    body: bytes.toString(encoding),
    body_encoding: encoding,
  };
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
