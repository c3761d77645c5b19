import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { MillraceError } from "./errors.ts";
import {
  GENERATION_MAX,
  headersHash,
  TIME_MAX_MS,
  type EnvelopedEvent,
  type IncomingEvent,
  type Outcome,
} from "./event.ts";
import type { QueueKeys } from "./queue-keys.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { StopSignal } from "./deadline.ts";

/** A worker leaves a later version to a newer worker (`unknown_envelope_version`). */
export const ENVELOPE_VERSION = 1;

const envelopeSchema = z.object({
  v: z.literal(ENVELOPE_VERSION),
  source: z.string().min(1),
  id: z.string().min(1),
  type: z.string().min(1),
  // The limits of the ledger's columns: a larger value would fail every look-up of the event.
  generation: z.int().min(0).max(GENERATION_MAX),
  accepted_at: z.number().min(0).max(TIME_MAX_MS),
  body_hash: z.string().length(43),
  headers: z.record(z.string(), z.string()),
  unsigned: z.boolean(),
  // Added without a new version: a worker of an earlier version leaves them out.
  digest: z.string().length(43).optional(),
  ledger: z.string().optional(),
  kid: z.string().optional(),
  mac: z.string().optional(),
  headers_hash: z.string().optional(),
  body: z.string().optional(),
  body_encoding: z.enum(["utf8", "base64"]).optional(),
});

export type Envelope = z.infer<typeof envelopeSchema>;

interface EnvelopeOptions {
  readonly identityOnly?: boolean;
  readonly keys?: QueueKeys | undefined;
  readonly ledger?: string | undefined;
}

export function toEnvelope(event: IncomingEvent, options: EnvelopeOptions = {}): Envelope {
  const { identityOnly = false, keys, ledger } = options;
  const headers = identityOnly ? {} : { ...event.headers };
  const identity = identityOf(
    event,
    keys && (identityOnly ? IN_LEDGER : headersHash(JSON.stringify(headers))),
    ledger,
  );
  const seal = keys && { kid: keys.kid, mac: keys.sign(JSON.stringify(identity)) };
  return { ...identity, ...seal, headers, ...(identityOnly ? {} : bodyOf(event)) };
}

/** The text of `JSON.stringify` in half the time: a string is written faster than a property. */
export function stringifyEnvelope({ body, body_encoding, ...rest }: Envelope): string {
  const text = JSON.stringify(rest);
  if (body === undefined) return text;
  return `${text.slice(0, -1)},"body":${JSON.stringify(body)},"body_encoding":"${body_encoding}"}`;
}

/** The headers' hash of a job whose headers are in the ledger: no headers have this hash. */
const IN_LEDGER = "";

/** Always these fields in this order, so that no two events have one text. */
function identityOf(
  event: EnvelopedEvent,
  hashOfHeaders: string | undefined,
  ledger: string | undefined,
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
    digest: event.digest,
    headers_hash: hashOfHeaders,
    ledger,
  } as const;
}

function bodyOf({ body }: IncomingEvent) {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return { body: bytes.toString(encoding), body_encoding: encoding } as const;
}

/** The reason not to trust a job: it has no MAC, or one that no live key made. */
export type MacProblem = "missing" | "wrong";

export interface ReadEnvelope {
  readonly event: EnvelopedEvent;
  /** Undefined when the MAC is valid, or when there are no keys. */
  readonly mac: MacProblem | undefined;
  readonly ledger?: string | undefined;
}

/**
 * Reads job data and checks its MAC. Anyone with access to the queue can edit or add a job.
 * @throws `invalid_envelope`, or `unknown_envelope_version` for a later version
 */
export function readEnvelope(data: unknown, keys: QueueKeys | undefined): ReadEnvelope {
  const envelope = parseEnvelope(data);
  const event = fromParsed(envelope);
  return { event, mac: keys && macProblem(envelope, event, keys), ledger: envelope.ledger };
}

/** Reads job data back as `readEnvelope` does, without its MAC. */
export function fromEnvelope(data: unknown): EnvelopedEvent {
  return fromParsed(parseEnvelope(data));
}

function parseEnvelope(data: unknown): Envelope {
  const { v: version }: { v?: unknown } = Object(data);
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
  { v, kid, mac, headers_hash, headers, body, ledger }: Envelope,
  event: EnvelopedEvent,
  keys: QueueKeys,
): MacProblem | undefined {
  if (kid === undefined || mac === undefined || headers_hash === undefined) return "missing";
  // A stripped job has neither body nor headers, and keeps both hashes.
  const hasHeaders = body !== undefined || Object.keys(headers).length > 0;
  if (hasHeaders && headersHash(JSON.stringify(headers)) !== headers_hash) return "wrong";
  const text = JSON.stringify(identityOf(event, headers_hash, ledger, v));
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

/** The spans of one run of a job. */
export interface JobTrace {
  claimed(attempt: number): void;
  /** @param headers - of the event as the ledger has it, where the job has none. */
  part<Value>(
    name: "write" | "call" | "step",
    run: () => Promise<Value>,
    of?: { readonly step?: string; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Value>;
  /** The `traceparent` for an event that is emitted. */
  emit(source: string, type: string): string | undefined;
}

export interface EventJob {
  readonly event: EnvelopedEvent;
  readonly mac?: MacProblem | undefined;
  /**
   * Changes when someone retries the failed job or adds it again, not when a worker died or handed
   * it back. A failed event whose job comes with the run that failed it was not retried.
   */
  readonly run: string;
  /** The handlers may have run, and were undone with their worker: no shared transaction. */
  readonly startedBefore?: boolean;
  readonly enqueuedAtMs: number;
  /** Aborts when the queue's lock on the job is lost, or the worker's time to stop is up. */
  readonly signal: StopSignal;
  /** Undefined without an SDK of OpenTelemetry. */
  readonly trace?: JobTrace | undefined;
}

export type JobResult =
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "duplicate" }
  /** The job fails for good; nothing runs until someone retries the event. */
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly recorded?: boolean;
    }
  /** The attempt failed or could not start; the job runs again after `afterMs`. */
  | {
      readonly kind: "retry";
      readonly afterMs: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly recorded: boolean;
    }
  /** Another worker has the event, or has settled it since: this run wrote nothing. */
  | { readonly kind: "lost"; readonly afterMs: number };
