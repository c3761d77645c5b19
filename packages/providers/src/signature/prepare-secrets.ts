import { MillraceError } from "@millrace/core";

/**
 * Makes each live secret ready. A secret that is empty verifies whatever anyone signs, so none such
 * is let through. The message says which form is right and never quotes what was set.
 *
 * @throws `missing_secret` when there is none, or with the position of the first that is not a
 * secret.
 */
export function prepareSecrets<Key>(
  secrets: readonly string[],
  of: { prepare(secret: string): Key | undefined; readonly secretForm: string },
): Key[] {
  if (secrets.length === 0) throw missing("there is no secret");
  return secrets.map((secret: unknown, index) => {
    const which = secrets.length === 1 ? "the secret" : `secret ${index + 1} of ${secrets.length}`;
    if (typeof secret !== "string" || secret.trim() === "") throw missing(`${which} is empty`);
    if (secret.trim() !== secret) throw missing(`${which} has white space round it`);
    const key = of.prepare(secret);
    if (key === undefined) {
      throw missing(`${which} is malformed or too short, it must be ${of.secretForm}`);
    }
    return key;
  });
}

/** @throws `missing_secret` for text that is not a key and a secret; an empty one has no key. */
export function splitKey(secret: string): readonly [key: string, secret: string] {
  if (secret.trim() === "") return ["", secret];
  const [, key, rest = ""] = /^([^:]{8,}):(.+)$/.exec(secret) ?? [];
  if (key === undefined)
    throw missing("a secret must be <key>:<secret>, with a key from 8 characters");
  return [key, rest];
}

function missing(state: string): MillraceError {
  return new MillraceError("missing_secret", `Cannot verify deliveries: ${state}`);
}

const FORMS: Readonly<Record<KeyEncoding, string>> = {
  utf8: "text of at least 8 bytes, not counting a whsec_ in front",
  hex: "at least 32 hexadecimal digits, an even number of them",
  base64: "the base64 of at least 16 bytes, with its padding, with whsec_ in front or without",
};

/**
 * Reads a secret in each of the encodings that fit it. Text that has 32 hexadecimal digits is often
 * base64 too, so in a list base64 wants its prefix.
 */
export function keysIn(...encodings: readonly KeyEncoding[]) {
  const [only, ...others] = encodings;
  const fits = (secret: string, encoding: KeyEncoding) =>
    encoding !== "base64" || others.length === 0 || PREFIX.test(secret);
  return {
    /** The bytes that a secret may stand for, the likeliest first; none when it is no secret. */
    read: (secret: string): readonly Uint8Array[] =>
      encodings
        .filter((encoding) => fits(secret, encoding))
        .flatMap((encoding) => readKey(secret, encoding) ?? []),
    /** The form of a right secret, for the message about a wrong one: "must be <form>". */
    form: FORMS[others.length === 0 ? (only ?? "utf8") : "utf8"],
  };
}

export type KeyEncoding = (typeof KEY_ENCODINGS)[number];
export const KEY_ENCODINGS = ["utf8", "hex", "base64"] as const;

/** Supabase writes `v1,` in front. */
const PREFIX = /^(?:v1,)?whsec_/;
const TEXT_BYTES_MIN = 8;
const DECODED_BYTES_MIN = 16;

function readKey(secret: string, encoding: KeyEncoding): Uint8Array | undefined {
  const bare = secret.replace(PREFIX, "");
  if (encoding === "utf8") {
    return Buffer.byteLength(bare) < TEXT_BYTES_MIN ? undefined : Buffer.from(secret, "utf8");
  }
  const bytes = decodeStrictly(encoding === "hex" ? secret : bare, encoding);
  return bytes === undefined || bytes.length < DECODED_BYTES_MIN ? undefined : bytes;
}

export type SignatureEncoding = (typeof ENCODINGS)[number];
export const ENCODINGS = ["hex", "base64", "base64url"] as const;

/** Hex may be in either case; base64 must have its padding and base64url none. */
export function decodeStrictly(text: string, encoding: SignatureEncoding): Uint8Array | undefined {
  if (encoding === "hex") {
    // Node stops at the first wrong digit, and takes "š" for "a".
    const isHex = text.length % 2 === 0 && /^[0-9a-f]*$/i.test(text);
    return isHex ? Buffer.from(text, "hex") : undefined;
  }
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : undefined;
}
