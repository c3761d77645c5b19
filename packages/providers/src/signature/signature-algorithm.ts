import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  hash,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
  type KeyObject,
} from "node:crypto";
import { MillraceError, type SignedMessage } from "@millrace/core";
import { textToHeader } from "../identity/locations.ts";
import {
  decodeStrictly,
  keysIn,
  type KeyEncoding,
  type SignatureEncoding,
} from "./prepare-secrets.ts";
import type { ParsedSignature } from "./signature-options.ts";

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
  name: HmacHash,
  encoding: SignatureEncoding,
  keyEncodings: readonly KeyEncoding[],
): SignatureAlgorithm {
  const bytes = DIGEST_BYTES[name];
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
            const digest = hmac(name, key, message);
            return signatures.some(
              (signature) => signature.length === bytes && timingSafeEqual(digest, signature),
            );
          }),
        sign: (message) => hmac(name, first, message).toString(encoding),
      };
    },
    decode(text) {
      // 44 characters of base64 are 32 bytes or 33, and timingSafeEqual throws on unequal lengths.
      const signature = decodeStrictly(text, encoding);
      return signature?.length === bytes ? signature : undefined;
    },
  };
}

function hmac(name: HmacHash, key: KeyObject, message: SignedMessage): Buffer {
  const state = createHmac(name, key);
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest();
}

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

const utf8 = keysIn("utf8");

/** The secret itself, or its base64. Hashes are compared: they are as long, whatever was sent. */
function tokenAlgorithm(encoding: ParsedSignature["encoding"]): SignatureAlgorithm {
  return {
    secretForm: utf8.form,
    prepare(secret) {
      if (utf8.read(secret).length === 0) return undefined;
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

const RSA_BITS_MIN = 2_048;
const SPKI = {
  digest: "sha256",
  encoding: "base64",
  form: "the verification key as it is shown: base64, or PEM with its header lines",
} as const;

const KINDS = {
  /** RFC 8032: the key is 32 bytes in hexadecimal or base64. */
  ed25519: {
    digest: null,
    curve: "ed25519",
    encoding: "hex",
    signatureBytesMax: 64,
    form: "the public key in 64 hexadecimal digits or base64",
    generate: () => generateKeyPairSync("ed25519"),
  },
  /** ECDSA with SHA-256: the signature is DER. */
  p256: {
    ...SPKI,
    curve: "prime256v1",
    signatureBytesMax: 72,
    generate: () => generateKeyPairSync("ec", { namedCurve: "prime256v1" }),
  },
  /** PKCS #1 v1.5 with SHA-256, of 2,048 bits or more. */
  rsa: {
    ...SPKI,
    curve: "rsa",
    signatureBytesMax: 1_024,
    generate: () => generateKeyPairSync("rsa", { modulusLength: RSA_BITS_MIN }),
  },
} as const;

type PublicKeyName = keyof typeof KINDS;

export const isPublicKeyName = (name: string): name is PublicKeyName => Object.hasOwn(KINDS, name);

/**
 * The secret is the sender's public key; for development it may be your own private key (PKCS #8
 * in base64), which can sign too.
 */
export function publicKeyAlgorithm(
  name: PublicKeyName,
  encoding: SignatureEncoding = KINDS[name].encoding,
): SignatureAlgorithm {
  const { digest, signatureBytesMax, form } = KINDS[name];
  return {
    secretForm: `${form}, or your own private key: PKCS #8 in base64`,
    prepare(secret) {
      const privateKey = parsed(name, () => readPrivateKey(secret));
      const publicKey = publicKeyOf(name, secret);
      if (publicKey === undefined) return undefined;
      return {
        accepts: (message, signatures) => {
          const bytes = joined(message);
          return signatures.some((signature) => verify(digest, bytes, publicKey, signature));
        },
        sign: (message) => {
          if (privateKey === undefined) throw cannotSign();
          return sign(digest, joined(message), privateKey).toString(encoding);
        },
      };
    },
    decode: (text) =>
      text.length > signatureBytesMax * 2 ? undefined : decodeStrictly(text, encoding),
  };
}

/** The public key that a secret is, or that of your own private key. */
export function publicKeyOf(name: PublicKeyName, secret: string): KeyObject | undefined {
  const privateKey = parsed(name, () => readPrivateKey(secret));
  return privateKey ? createPublicKey(privateKey) : parsed(name, () => readPublicKey(secret, name));
}

/** The key, if it is of this kind. The parser's own words quote its input. */
function parsed(name: PublicKeyName, read: () => KeyObject | undefined): KeyObject | undefined {
  try {
    const key = read();
    const { namedCurve = key?.asymmetricKeyType, modulusLength = RSA_BITS_MIN } =
      key?.asymmetricKeyDetails ?? {};
    return namedCurve === KINDS[name].curve && modulusLength >= RSA_BITS_MIN ? key : undefined;
  } catch {
    return undefined;
  }
}

function readPrivateKey(text: string): KeyObject | undefined {
  const key = decodeStrictly(text, "base64");
  return key && createPrivateKey({ key: Buffer.from(key), format: "der", type: "pkcs8" });
}

// SubjectPublicKeyInfo of Ed25519 up to the key itself (RFC 8410, section 4).
const ED25519_SPKI = Buffer.from("302a300506032b6570032100", "hex");
const PEM = /^-----BEGIN PUBLIC KEY-----([\sA-Za-z0-9+/=]+)-----END PUBLIC KEY-----\s*$/;

function readPublicKey(text: string, name: PublicKeyName): KeyObject | undefined {
  const bare = PEM.exec(text)?.[1]?.replaceAll(/\s/g, "") ?? text;
  const hex = name === "ed25519" ? decodeStrictly(text, "hex") : undefined;
  const bytes = hex ?? decodeStrictly(bare, "base64");
  if (bytes === undefined) return undefined;
  const isBare = name === "ed25519" && bytes.length === 32;
  const key = isBare ? Buffer.concat([ED25519_SPKI, bytes]) : Buffer.from(bytes);
  return createPublicKey({ key, format: "der", type: "spki" });
}

function joined(message: SignedMessage): Buffer {
  return Buffer.concat(
    message.map((piece) => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)),
  );
}

function cannotSign(): MillraceError {
  return new MillraceError(
    "missing_secret",
    "Cannot sign: the secret is a public key, and only the sender has the private one. Unset it, and `millrace start` makes a pair for development",
  );
}

function randomPrivateKey(name: PublicKeyName): string {
  const { privateKey } = KINDS[name].generate();
  return privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}
