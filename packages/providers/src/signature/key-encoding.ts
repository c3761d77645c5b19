import { decodeStrictly } from "./signature-encoding.ts";

/** How a secret's text becomes the key's bytes. */
export type KeyEncoding = (typeof KEY_ENCODINGS)[number];
export const KEY_ENCODINGS = ["utf8", "hex", "base64"] as const;

/** Standard Webhooks, Svix and Stripe mark their secrets with it. */
const PREFIX = "whsec_";
const TEXT_BYTES_MIN = 8;
const DECODED_BYTES_MIN = 16;

/**
 * The key's bytes, or undefined when the secret is not in this encoding or too short to be a key:
 * 8 bytes as text, 16 decoded. `base64` takes the secret with or without its `whsec_`; `utf8` is
 * the whole text, `whsec_` included.
 */
export function readKey(secret: string, encoding: KeyEncoding): Uint8Array | undefined {
  const bare = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (encoding === "utf8") {
    return Buffer.byteLength(bare) < TEXT_BYTES_MIN ? undefined : Buffer.from(secret, "utf8");
  }
  const bytes = decodeStrictly(encoding === "hex" ? secret : bare, encoding);
  return bytes === undefined || bytes.length < DECODED_BYTES_MIN ? undefined : bytes;
}
