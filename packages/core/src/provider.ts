import { MillraceError } from "./errors.ts";
import { randomBytes, randomUUID } from "node:crypto";
import type { z } from "zod";
import type { ErrorCode } from "./error-codes.ts";

/** One HTTP request as a provider sees it. Header names are lower-case; a header that came twice
 * is its values joined with ", " as node:http does. */
export interface Delivery {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** Of a source with `secrets`, as the URL has it. */
  readonly tenant?: string | undefined;
  /** The ingress's clock when the delivery came in, milliseconds since the epoch. */
  readonly receivedAtMs: number;
}

/** A delivery of which only the head has come. */
export type DeliveryHead = Omit<Delivery, "body">;

/** The reason to refuse a delivery: a code, and a sentence without secrets. */
export interface Refusal {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly message: string;
  /** Of a signature: for log, metrics, and health. The sender never gets it. */
  readonly failure?: SignatureFailure;
  /** A mistake of the provider's own, for log and health. */
  readonly error?: unknown;
}

export interface SignatureFailure {
  readonly reason: SignatureReason;
  /** Of `too_old` and `too_new`: seconds from the signed time to now, or back, where known. */
  readonly seconds?: number;
}

export const SIGNATURE_REASONS = [
  "header_missing",
  "malformed",
  "no_secret_matches",
  "too_old",
  "too_new",
] as const;

/** `header_missing` is that of the signature, or of a time or an id that it covers. */
export type SignatureReason = (typeof SIGNATURE_REASONS)[number];

/** In pieces, so that a body is never copied. Text is one byte a character. */
export type SignedMessage = readonly (string | Uint8Array)[];

/**
 * The verdict on a delivery's signature. `handshake` is the answer to a delivery that asks for
 * proof of the secret; nothing is enqueued. `signed` is the signed message, where that is not the
 * body as it came.
 */
export type Verification =
  | { readonly ok: true; readonly handshake?: Answer; readonly signed?: SignedMessage | undefined }
  | Refusal;

export interface IdentifiedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly body?: Uint8Array;
}

/** The events of a delivery, and its answer, which takes precedence over `answers`. */
export type Identification =
  | { readonly ok: true; readonly events: readonly IdentifiedEvent[]; readonly answer?: Answer }
  | Refusal;

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Verifier {
  /**
   * Checks a delivery against each live secret, in constant time, over the raw bytes. A promise
   * never rejects.
   */
  verify(delivery: Delivery): Verification | Promise<Verification>;
  /**
   * Refuses by its head a delivery that `verify` would refuse whatever its body: a missing or
   * malformed signature, a time out of tolerance. Never refuses what `verify` would accept within
   * the next `readMs` milliseconds, the longest that a body may take.
   */
  precheck?(head: DeliveryHead, readMs: number): Refusal | undefined;
}

export interface VerifierOptions {
  readonly toleranceMs?: number | undefined;
  /** Instead of the provider's `signedUrl`. */
  readonly url?: string;
  /** Instead of the provider's encoding of secrets: `millrace verify` tries the others. */
  readonly key?: "utf8" | "hex" | "base64";
}

/** The parts of a sample; everything else in it follows from the id, so that runs differ. */
export interface SampleRequest {
  readonly eventId: string;
  readonly type: string;
  readonly nowMs: number;
}

/** The request of a sender: `millrace send` and tests sign it. */
export interface SignRequest extends SampleRequest {
  readonly body: Uint8Array;
  readonly secret: string;
  /** Instead of the provider's `signedUrl`. */
  readonly url?: string;
}

/** One kind of sender: signatures, names and types of its events. Pure functions on bytes. */
export interface Provider<DataField extends string = string> {
  /** Kebab-case, as in `millrace send` and the docs: `standard-webhooks`. */
  readonly name: string;
  readonly methods: readonly string[];
  /** The largest body that the provider documents, in bytes; 1 MiB where it documents none. */
  readonly bodyBytesMax: number;
  /** Wrong options, for which the config is refused, with all its other problems. */
  readonly problems?: readonly Pick<z.core.$ZodIssue, "path" | "message">[];
  /** Days for which the sender may deliver an event again, where it documents that. */
  readonly repeatsDays?: number;
  /** The text that ids begin with in samples, or `uuid` for UUIDs. Default: `evt_`. */
  readonly idPrefix?: string;
  /** Fields of a body that say which attempt of the sender it is: no other body of the event. */
  readonly attemptFields?: readonly string[];
  /** The text that each secret begins with, where the sender documents one: `whsec_`. */
  readonly secretPrefix?: string;
  /** Lower-case names of the headers that are kept with an event. */
  readonly keptHeaders: readonly string[];
  readonly types?: readonly string[];
  /** The field of a payload that holds the event's own data, where the sender wraps it. */
  readonly dataField?: DataField;
  /** False when the event id stands outside what the signature covers. */
  readonly idIsSigned: boolean;
  /** True when nothing signed covers all of the body: a token, or a signature of some fields. */
  readonly authenticatedOnly?: boolean;
  /** False where the sender's keys are fetched: the source has no secret. */
  readonly needsSecret?: boolean;
  /** Takes bodies in gzip; the signature covers them as they came (`raw`), or inflated. */
  readonly inflate?: "raw" | "inflated";
  /** True for the one of internal sources: they have no URL, and handlers emit their events. */
  readonly isInternal?: true;
  readonly answers?: { readonly accepted?: Answer; readonly duplicate?: Answer };

  /** The URL that the signature covers, as the config has it. */
  readonly signedUrl?: string;
  /** The same provider for a URL, of a sender that signs the one it calls and has none yet. */
  readonly at?: (url: string) => Provider;

  /** @throws `missing_secret` for none, an empty or a malformed one; the message never holds it */
  createVerifier(secrets: readonly string[], options?: VerifierOptions): Verifier;
  identify(delivery: Delivery): Identification;

  generateSecret(): string;
  /** Types that `sample` knows, the usual one first. */
  readonly sampleTypes: readonly string[];
  /** A realistic body of a type; unknown types get a plain one. Ids and times come from outside. */
  sample(request: SampleRequest): string;
  /** The headers that the provider would send with this body, signature among them. */
  sign(request: SignRequest): Record<string, string>;
}

/** The provider for a tenant: a sender that signs the URL that it calls signs the tenant's. */
export function providerOfTenant(provider: Provider, tenant: string | undefined): Provider {
  if (tenant === undefined || provider.signedUrl === undefined) return provider;
  const url = provider.signedUrl.replace(/\/?(?=\?|$)/, `/${tenant}`);
  return {
    ...provider,
    signedUrl: url,
    createVerifier: (secrets, options) => provider.createVerifier(secrets, { url, ...options }),
    sign: (request) => provider.sign({ ...request, url }),
  };
}

/** An id as the sender would choose one. */
export function newEventId({ idPrefix = "evt_" }: Pick<Provider, "idPrefix">): string {
  return idPrefix === "uuid" ? randomUUID() : `${idPrefix}${randomBytes(12).toString("hex")}`;
}

const NO_URL = { ok: false, code: "unknown_source", message: "The source has no URL" } as const;

/** Never verified, signed, or sent: only the limits and the name are read. */
export const INTERNAL_PROVIDER: Provider<never> & { readonly isInternal: true } = {
  name: "internal",
  isInternal: true,
  methods: [],
  bodyBytesMax: 1024 * 1024,
  keptHeaders: [],
  idIsSigned: true,
  createVerifier: () => ({ verify: () => NO_URL }),
  identify: () => NO_URL,
  generateSecret: refuse,
  sampleTypes: [],
  sample: refuse,
  sign: refuse,
};

function refuse(): never {
  throw new MillraceError("unknown_source", "Cannot deliver to an internal source: it has no URL");
}
