import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { textToHeader } from "../identity/delivery-reader.ts";
import { keysIn, type KeyEncoding } from "./prepare-secrets.ts";
import { isPublicKeyName, publicKeyAlgorithm, randomPrivateKey } from "./public-key-algorithm.ts";
import { hmacAlgorithm, type SignatureAlgorithm } from "./signature-algorithm.ts";
import type { ParsedSignature } from "./signature-options.ts";

export function algorithmOf(options: ParsedSignature): SignatureAlgorithm {
  const { algorithm, key, encoding } = options;
  const keys = [key].flat();
  if (algorithm === "token") return tokenAlgorithm(encoding);
  if (algorithm === "standard") return standardAlgorithm(keys);
  if (isPublicKeyName(algorithm)) return publicKeyAlgorithm(algorithm, encoding);
  return hmacAlgorithm(algorithm, encoding ?? "hex", keys);
}

/** A secret for development, in the form that a sender's own would have. */
export function randomSecret(algorithm: ParsedSignature["algorithm"], key = ["utf8"]): string {
  if (isPublicKeyName(algorithm)) return randomPrivateKey(algorithm);
  const bytes = randomBytes(32);
  return key[0] === "base64" ? `whsec_${bytes.toString("base64")}` : bytes.toString("hex");
}

const PUBLIC_PREFIX = "whpk_";
const ED25519_BYTES = 64;

/** Standard Webhooks: `v1` is an HMAC, and `v1a` Ed25519, for secrets that are a public key. */
function standardAlgorithm(keys: readonly KeyEncoding[]): SignatureAlgorithm {
  const shared = hmacAlgorithm("sha256", "base64", keys);
  const pair = publicKeyAlgorithm("ed25519", "base64");
  return {
    secretForm: shared.secretForm,
    prepare: (secret) =>
      secret.startsWith(PUBLIC_PREFIX)
        ? pair.prepare(secret.slice(PUBLIC_PREFIX.length))
        : shared.prepare(secret),
    decode(item) {
      // Of a header that came twice, an item has the comma between them behind it.
      const [, kind, written = ""] = /^(a?),([^,]+),?$/.exec(item) ?? [];
      if (kind !== "a") return shared.decode(written);
      const bytes = pair.decode(written);
      return bytes?.length === ED25519_BYTES ? bytes : undefined;
    },
  };
}

const text = keysIn("utf8");

/** The secret itself, or its base64. Hashes are compared: they are as long, whatever was sent. */
function tokenAlgorithm(encoding: ParsedSignature["encoding"]): SignatureAlgorithm {
  return {
    secretForm: text.form,
    prepare(secret) {
      if (text.read(secret).length === 0) return undefined;
      const token = encoding ? Buffer.from(secret).toString(encoding) : textToHeader(secret);
      const digest = sha256(token);
      return {
        accepts: (_message, tokens) => tokens.some((one) => timingSafeEqual(digest, one)),
        sign: () => token,
      };
    },
    decode: sha256,
  };
}

/** Compares in constant time, by hashes, which are as long whatever was sent. */
export function isSameText(one: string, other: string): boolean {
  return timingSafeEqual(sha256(textToHeader(one)), sha256(textToHeader(other)));
}

// A header is text of one byte a character; as latin1, other text would collide ("Ł" and "A").
function sha256(value: string): Buffer {
  return hash("sha256", Buffer.from(value, "latin1"), "buffer");
}
