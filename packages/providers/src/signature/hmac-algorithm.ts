import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import type { KeyReader } from "./key-reader.ts";
import type { Message, SignatureAlgorithm } from "./signature-algorithm.ts";
import { decodeStrictly, encodedLength, type SignatureEncoding } from "./signature-encoding.ts";

export type HmacHash = "sha1" | "sha256" | "sha512";

const DIGEST_BYTES: Readonly<Record<HmacHash, number>> = { sha1: 20, sha256: 32, sha512: 64 };

/**
 * HMAC (RFC 2104). Of the keys that a secret may stand for each verifies, and the first signs.
 */
export function hmacAlgorithm(options: {
  hash: HmacHash;
  encoding: SignatureEncoding;
  keys: KeyReader;
}): SignatureAlgorithm {
  const { hash, encoding, keys: reader } = options;
  const bytes = DIGEST_BYTES[hash];
  const length = encodedLength(bytes, encoding);

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
            return signatures.some((signature) => timingSafeEqual(digest, signature));
          }),
        sign: (message) => hmac(hash, first, message).toString(encoding),
      };
    },
    decode(text) {
      // The text's length first, so that a long one costs nothing. The bytes' as well: 44 characters
      // of base64 are 32 bytes or 33, and timingSafeEqual throws on unequal lengths.
      if (text.length !== length) return undefined;
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
