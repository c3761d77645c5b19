import { MillraceError, type SignedMessage } from "@millrace/core";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { decodeStrictly, type SignatureEncoding } from "./prepare-secrets.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";

const RSA_BITS_MIN = 2_048;
const SPKI = {
  hash: "sha256",
  encoding: "base64",
  form: "the verification key as it is shown: base64, or PEM with its header lines",
} as const;

const KINDS = {
  /** RFC 8032: the key is 32 bytes in hexadecimal or base64. */
  ed25519: {
    hash: null,
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

export type PublicKeyName = keyof typeof KINDS;

export const isPublicKeyName = (name: string): name is PublicKeyName => Object.hasOwn(KINDS, name);

/**
 * The secret is the sender's public key; for development it may be your own private key (PKCS #8
 * in base64), which can sign too.
 */
export function publicKeyAlgorithm(
  name: PublicKeyName,
  encoding: SignatureEncoding = KINDS[name].encoding,
): SignatureAlgorithm {
  const { hash, signatureBytesMax, form } = KINDS[name];
  return {
    secretForm: `${form}, or your own private key: PKCS #8 in base64`,
    prepare(secret) {
      const privateKey = parsed(name, () => readPrivateKey(secret));
      const publicKey = publicKeyOf(name, secret);
      if (publicKey === undefined) return undefined;
      return {
        accepts: (message, signatures) => {
          const bytes = joined(message);
          return signatures.some((signature) => verify(hash, bytes, publicKey, signature));
        },
        sign: (message) => {
          if (privateKey === undefined) throw cannotSign();
          return sign(hash, joined(message), privateKey).toString(encoding);
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

export function randomPrivateKey(name: PublicKeyName): string {
  const { privateKey } = KINDS[name].generate();
  return privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}
