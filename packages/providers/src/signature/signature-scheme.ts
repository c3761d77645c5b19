import type {
  Answer,
  Delivery,
  DeliveryHead,
  Refusal,
  SignRequest,
  Verification,
  Verifier,
} from "@millrace/core";
import { headerOf, textToHeader } from "../identity/delivery-reader.ts";
import { prepareSecrets } from "./prepare-secrets.ts";
import {
  hmacAlgorithm,
  type Message,
  type KeyReader,
  type SignatureAlgorithm,
  type SigningKey,
} from "./signature-algorithm.ts";
import { type SignatureFormat, versionList } from "./signature-format.ts";
import {
  badSignature,
  checkAge,
  compileTemplate,
  type HeadParts,
  type MessageTemplate,
  readHeadParts,
  readSignedAt,
  type TimestampRule,
  TOLERANCE_MS,
  writeTimestamp,
} from "./signed-message.ts";

export interface Scheme {
  /** @throws `missing_secret` for none, an empty or a malformed one; the message never holds it. */
  createVerifier(secrets: readonly string[], options?: { toleranceMs?: number }): Verifier;
  /**
   * The headers that carry the signature, and whatever else is signed.
   * @throws `missing_secret` for an empty or a malformed one
   */
  sign(request: SignRequest): Record<string, string>;
}

/**
 * Makes the signed message of a delivery where no template says it: several where senders differ,
 * or none when the delivery cannot have been signed.
 */
export type MessageMaker = (delivery: Pick<Delivery, "url" | "body">) => readonly Message[];

export interface SignatureSchemeOptions {
  readonly algorithm: SignatureAlgorithm;
  readonly format: SignatureFormat;
  /** The header that holds the signature. */
  readonly header: string;
  /** The signed message: `{id}.{ts}.{body}`, or a function of the delivery. */
  readonly message: string | MessageMaker;
  /** The header that `{id}` stands for. */
  readonly idHeader?: string | undefined;
  readonly timestamp?: TimestampRule | undefined;
  /** Milliseconds that the signed time may be off, both ways; five minutes where it is not said. */
  readonly toleranceMs?: number;
  /** The answer to a verified delivery that asks for proof of the secret, made with its key. */
  readonly respond?: (delivery: Delivery, key: SigningKey) => Answer | undefined;
}

/** The scheme of most senders: constant time over the raw bytes, against each live secret. */
export function signatureScheme(options: SignatureSchemeOptions): Scheme {
  const { algorithm, format, header, idHeader, timestamp } = options;
  const template = compileTemplate(typeof options.message === "string" ? options.message : "");
  const make = typeof options.message === "string" ? undefined : options.message;

  return {
    createVerifier(secrets, { toleranceMs = options.toleranceMs ?? TOLERANCE_MS } = {}) {
      const keys = prepareSecrets(secrets, algorithm);
      return {
        verify(delivery): Verification {
          const head = readHead(delivery, options, template);
          if ("code" in head) return head;
          const { signatures, parts } = head;
          const messages =
            make === undefined
              ? [template.build({ id: parts.id, ts: parts.ts, body: delivery.body })]
              : make(delivery);
          const match = firstMatch(keys, messages, signatures);
          if (match === undefined) return badSignature(`${header} matches no live secret`);
          // Last: here invalid_timestamp means a real delivery that is old, or a clock.
          const signedAtMs = readSignedAt(delivery, parts, timestamp);
          if (typeof signedAtMs === "object") return signedAtMs;
          if (signedAtMs !== undefined) {
            const refusal = checkAge(signedAtMs, delivery.receivedAtMs, toleranceMs);
            if (refusal !== undefined) return refusal;
          }
          const handshake = options.respond?.(delivery, match.key);
          if (handshake !== undefined) return { ok: true, handshake };
          return isBody(match.signed, delivery) ? { ok: true } : { ok: true, signed: match.signed };
        },

        precheck(head, readMs) {
          const read = readHead(head, options, template);
          if ("code" in read) return read;
          if (timestamp === undefined || timestamp.json !== undefined) return undefined;
          // A message that is signed ahead of now comes into the tolerance while its body is read.
          const { tsMs } = read.parts;
          const nowMs = Math.max(head.receivedAtMs, Math.min(tsMs, head.receivedAtMs + readMs));
          return checkAge(tsMs, nowMs, toleranceMs);
        },
      };
    },

    sign(request) {
      const [key] = prepareSecrets([request.secret], algorithm);
      const ts = timestamp === undefined ? "" : writeTimestamp(request.nowMs, timestamp.unit);
      const id = textToHeader(request.eventId);
      const { body } = request;
      const [message] =
        make === undefined ? [template.build({ id, ts, body })] : make({ url: "", body });
      const signature = message === undefined ? "" : (key?.sign(message) ?? "");
      return {
        ...(idHeader !== undefined && { [idHeader]: id }),
        ...(timestamp?.header !== undefined && { [timestamp.header]: ts }),
        [header]: format.write(signature, ts),
      };
    },
  };
}

/** The signature in a head, or the reason why no body can match it. */
function readHead(
  head: DeliveryHead,
  options: SignatureSchemeOptions,
  template: MessageTemplate,
): SignedHead | Refusal {
  const { algorithm, format, header } = options;
  const value = headerOf(head, header);
  if (value === undefined || value === "") return badSignature(`${header} is missing`);
  const written = format.read(value);
  const signatures = written.candidates.flatMap((text) => algorithm.decode(text) ?? []);
  if (signatures.length === 0) return badSignature(`${header} holds no signature`);
  const parts = readHeadParts(head, written, options, template);
  return "code" in parts ? parts : { signatures, parts };
}

/** The possible signatures in a head, and the head's part of their message. */
interface SignedHead {
  readonly signatures: readonly Uint8Array[];
  readonly parts: HeadParts;
}

/** The key that signed, and which of the messages. */
function firstMatch(
  keys: readonly SigningKey[],
  messages: readonly Message[],
  signatures: readonly Uint8Array[],
): { readonly key: SigningKey; readonly signed: Message } | undefined {
  for (const key of keys) {
    const signed = messages.find((message) => key.accepts(message, signatures));
    if (signed !== undefined) return { key, signed };
  }
  return undefined;
}

/** True when the body alone was signed: its hash is the message's digest then. */
function isBody(message: Message, { body }: Delivery): boolean {
  return message.length === 1 && message[0] === body;
}

/** Two ways that one sender signs, chosen by the delivery; it signs in the first. */
export function eitherScheme(options: {
  first: Scheme;
  second: Scheme;
  isSecond: (head: DeliveryHead) => boolean;
}): Scheme {
  const { first, second, isSecond } = options;
  return {
    createVerifier(secrets, verifierOptions) {
      const one = first.createVerifier(secrets, verifierOptions);
      const other = second.createVerifier(secrets, verifierOptions);
      const choose = (head: DeliveryHead) => (isSecond(head) ? other : one);
      return {
        verify: (delivery) => choose(delivery).verify(delivery),
        precheck: (head, readMs) => choose(head).precheck?.(head, readMs),
      };
    },
    sign: first.sign,
  };
}

/** Standard Webhooks. Senders differ in how a secret becomes a key, and in the headers' prefix. */
export function standardScheme(keys: KeyReader, prefix = "webhook"): Scheme {
  return signatureScheme({
    algorithm: hmacAlgorithm({ hash: "sha256", encoding: "base64", keys }),
    format: versionList("v1"),
    header: `${prefix}-signature`,
    message: "{id}.{ts}.{body}",
    idHeader: `${prefix}-id`,
    timestamp: { header: `${prefix}-timestamp`, unit: "s" },
  });
}
