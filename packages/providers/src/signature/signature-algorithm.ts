import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Delivery, SignedMessage } from "@millrace/core";
import {
  decodeStrictly,
  keysIn,
  type KeyEncoding,
  type SignatureEncoding,
} from "./prepare-secrets.ts";

/**
 * Makes the signed message of a delivery where no template says it: several where senders differ,
 * or none when the delivery cannot have been signed. `url` is that of the options.
 */
export type MessageMaker = (
  delivery: Pick<Delivery, "url" | "body">,
  url: string,
) => readonly SignedMessage[];

export interface SigningKey {
  /** True when one of the signatures is this key's over the message; compares in constant time. */
  accepts(message: SignedMessage, signatures: readonly Uint8Array[]): boolean;
  sign(message: SignedMessage): string;
}

export interface SignatureAlgorithm {
  /** Undefined when the secret is malformed or too short. */
  prepare(secret: string): SigningKey | undefined;
  readonly secretForm: string;
  /** A signature's bytes; undefined when the text cannot be one. */
  decode(text: string): Uint8Array | undefined;
}

const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const;
type HmacHash = keyof typeof DIGEST_BYTES;

/** HMAC (RFC 2104). Of the keys that a secret may stand for each verifies, the first signs. */
export function hmacAlgorithm(
  hash: HmacHash,
  encoding: SignatureEncoding,
  keyEncodings: readonly KeyEncoding[],
): SignatureAlgorithm {
  const bytes = DIGEST_BYTES[hash];
  const reader = keysIn(...keyEncodings);
  return {
    secretForm: reader.form,
    prepare(secret) {
      const keys = reader.read(secret).map((key) => createSecretKey(key));
      const [first] = keys;
      if (first === undefined) return undefined;
      return {
        accepts: (message, signatures) =>
          keys.some((key) => {
            const digest = hmac(hash, key, message);
            return signatures.some(
              (signature) => signature.length === bytes && timingSafeEqual(digest, signature),
            );
          }),
        sign: (message) => hmac(hash, first, message).toString(encoding),
      };
    },
    decode(text) {
      // 44 characters of base64 are 32 bytes or 33, and timingSafeEqual throws on unequal lengths.
      const signature = decodeStrictly(text, encoding);
      return signature?.length === bytes ? signature : undefined;
    },
  };
}

function hmac(hash: HmacHash, key: KeyObject, message: SignedMessage): Buffer {
  const state = createHmac(hash, key);
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest();
}
