import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Delivery, SignedMessage } from "@millrace/core";

export type Message = SignedMessage;

/**
 * Makes the signed message of a delivery where no template says it: several where senders differ,
 * or none when the delivery cannot have been signed. `url` is that of the options.
 */
export type MessageMaker = (
  delivery: Pick<Delivery, "url" | "body">,
  url: string,
) => readonly Message[];

export interface SigningKey {
  /** True when one of the signatures is this key's over the message; compares in constant time. */
  accepts(message: Message, signatures: readonly Uint8Array[]): boolean;
  sign(message: Message): string;
}

export interface SignatureAlgorithm {
  /** Undefined when the secret is malformed or too short. */
  prepare(secret: string): SigningKey | undefined;
  readonly secretForm: string;
  /** A signature's bytes; undefined when the text cannot be one. */
  decode(text: string): Uint8Array | undefined;
}

export interface KeyReader {
  /** The bytes that a secret may stand for, the likeliest first; none when it is no secret. */
  read(secret: string): readonly Uint8Array[];
  /** The form of a right secret, for the message about a wrong one: "must be <form>". */
  readonly form: string;
}

export type SignatureEncoding = "hex" | "base64" | "base64url";

/** Hex may be in either case; base64 must have its padding and base64url none. */
export function decodeStrictly(text: string, encoding: SignatureEncoding): Uint8Array | undefined {
  if (encoding === "hex") {
    // Node stops at the first wrong digit, and takes "š" for "a".
    return text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text)
      ? Buffer.from(text, "hex")
      : undefined;
  }
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}

const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 } as const;
type HmacHash = keyof typeof DIGEST_BYTES;

/** HMAC (RFC 2104). Of the keys that a secret may stand for each verifies, the first signs. */
export function hmacAlgorithm(
  hash: HmacHash,
  encoding: SignatureEncoding,
  reader: KeyReader,
): SignatureAlgorithm {
  const bytes = DIGEST_BYTES[hash];

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

function hmac(hash: HmacHash, key: KeyObject, message: Message): Buffer {
  const state = createHmac(hash, key);
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest();
}
