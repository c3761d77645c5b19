import type { Answer, Delivery, Verification } from "@millrace/core";
import { headerOf, textToHeader } from "../headers.ts";
import { badSignature, readParts, readSignedAt, type TimestampRule } from "./message-parts.ts";
import { compileTemplate } from "./message-template.ts";
import { prepareSecrets } from "./prepare-secrets.ts";
import type { Scheme } from "./scheme.ts";
import type { Message, SignatureAlgorithm, SigningKey } from "./signature-algorithm.ts";
import type { SignatureFormat } from "./signature-format.ts";
import { checkAge, TOLERANCE_MS, writeTimestamp } from "./timestamp.ts";

/**
 * Makes what is signed of a delivery, where no template says it: one message, or several where senders differ in
 * how they write it, or none when the delivery cannot have been signed.
 */
export type MessageMaker = (delivery: Pick<Delivery, "url" | "body">) => readonly Message[];

/** A signature in a header over a message that is made of the delivery. */
export interface SignatureSchemeOptions {
  readonly algorithm: SignatureAlgorithm;
  readonly format: SignatureFormat;
  /** The header that holds the signature. */
  readonly header: string;
  /** What is signed: `{id}.{ts}.{body}`, or a function of the delivery. */
  readonly message: string | MessageMaker;
  /** The header that `{id}` stands for. */
  readonly idHeader?: string | undefined;
  readonly timestamp?: TimestampRule | undefined;
  /** Milliseconds that the signed time may be off, both ways; five minutes where it is not said. */
  readonly toleranceMs?: number;
  /** The answer to a verified delivery that asks for proof of the secret, made with the key that signed it. */
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
          const value = headerOf(delivery, header);
          if (value === undefined || value === "") return badSignature(`${header} is missing`);
          const written = format.read(value);
          const signatures = written.candidates.flatMap((text) => algorithm.decode(text) ?? []);
          if (signatures.length === 0) return badSignature(`${header} holds no signature`);

          const parts = readParts(delivery, written, options, template);
          if ("code" in parts) return parts;
          const messages = make === undefined ? [template.build(parts)] : make(delivery);
          const key = keys.find((live) =>
            messages.some((message) => live.accepts(message, signatures)),
          );
          if (key === undefined) return badSignature(`${header} matches no live secret`);
          // Last, so that invalid_timestamp always means a real delivery that is old, or a clock.
          const signedAtMs = readSignedAt(delivery, parts, timestamp);
          if (typeof signedAtMs === "object") return signedAtMs;
          if (signedAtMs !== undefined) {
            const age = checkAge(signedAtMs, delivery.receivedAtMs, toleranceMs);
            if (!age.ok) return age;
          }
          const handshake = options.respond?.(delivery, key);
          return handshake === undefined ? { ok: true } : { ok: true, handshake };
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
