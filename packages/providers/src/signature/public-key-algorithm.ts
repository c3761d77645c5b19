import { MillraceError } from "@millrace/core";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import {
  decodeStrictly,
  type Message,
  type SignatureAlgorithm,
  type SignatureEncoding,
} from "./signature-algorithm.ts";

export interface PublicKeyKind {
  readonly name: "ed25519" | "p256" | "rsa";
  readonly encoding: SignatureEncoding;
  readonly signatureBytesMax: number;
  /** The public key in DER (SPKI); undefined when the text is not a key. */
  readPublicKey(text: string): Uint8Array | undefined;
  readonly form: string;
}

const HASHES = { ed25519: null, p256: "sha256", rsa: "sha256" } as const;

/**
 * The secret is the sender's public key; for development it may be your own private key (PKCS #8
 * in base64), which can sign too.
 */
export function publicKeyAlgorithm(
  kind: PublicKeyKind,
  encoding = kind.encoding,
): SignatureAlgorithm {
  const hash = HASHES[kind.name];
  return {
    secretForm: `${kind.form}, or your own private key: PKCS #8 in base64`,
    prepare(secret) {
      const privateKey = readPrivateKey(secret, kind);
      const publicKey = privateKey === undefined ? readKey(secret, kind) : publicOf(privateKey);
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
      text.length > kind.signatureBytesMax * 2 ? undefined : decodeStrictly(text, encoding),
  };
}

function readPrivateKey(secret: string, kind: PublicKeyKind): KeyObject | undefined {
  const der = decodeStrictly(secret, "base64");
  if (der === undefined) return undefined;
  return parsed(kind, () =>
    createPrivateKey({ key: Buffer.from(der), format: "der", type: "pkcs8" }),
  );
}

function readKey(secret: string, kind: PublicKeyKind): KeyObject | undefined {
  const der = kind.readPublicKey(secret);
  if (der === undefined) return undefined;
  return parsed(kind, () =>
    createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" }),
  );
}

function publicOf(privateKey: KeyObject): KeyObject {
  return createPublicKey(privateKey);
}

const CURVES = { ed25519: "ed25519", p256: "prime256v1", rsa: "rsa" };
const RSA_BITS_MIN = 2_048;

// The parser's own words quote its input.
function parsed(kind: PublicKeyKind, read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    const { namedCurve = key.asymmetricKeyType, modulusLength = RSA_BITS_MIN } =
      key.asymmetricKeyDetails ?? {};
    return namedCurve === CURVES[kind.name] && modulusLength >= RSA_BITS_MIN ? key : undefined;
  } catch {
    return undefined;
  }
}

function joined(message: Message): Buffer {
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

// SubjectPublicKeyInfo of Ed25519 up to the key itself (RFC 8410, section 4).
const ED25519_SPKI = Buffer.from("302a300506032b6570032100", "hex");
const ED25519_KEY_BYTES = 32;

/** Ed25519 (RFC 8032): the key is 32 bytes in hexadecimal or base64, the signature 64. */
export const ed25519: PublicKeyKind = {
  name: "ed25519",
  encoding: "hex",
  signatureBytesMax: 64,
  readPublicKey: (text) => {
    const key = decodeStrictly(text, "hex") ?? decodeStrictly(text, "base64");
    return key?.length === ED25519_KEY_BYTES ? Buffer.concat([ED25519_SPKI, key]) : undefined;
  },
  form: "the public key in 64 hexadecimal digits or base64",
};

/** The key is SPKI in base64, without header lines or with those of PEM. */
function readSpki(text: string): Uint8Array | undefined {
  const pem = /^-----BEGIN PUBLIC KEY-----([\sA-Za-z0-9+/=]+)-----END PUBLIC KEY-----\s*$/.exec(
    text,
  );
  return decodeStrictly(pem?.[1]?.replaceAll(/\s/g, "") ?? text, "base64");
}

const SPKI_FORM = "the verification key as it is shown: base64, or PEM with its header lines";

/** ECDSA on P-256 with SHA-256: the signature is DER in base64. */
export const p256: PublicKeyKind = {
  name: "p256",
  encoding: "base64",
  signatureBytesMax: 72,
  readPublicKey: readSpki,
  form: SPKI_FORM,
};

/** RSA with SHA-256 (PKCS #1 v1.5), of 2,048 bits or more. */
export const rsa: PublicKeyKind = {
  name: "rsa",
  encoding: "base64",
  signatureBytesMax: 1_024,
  readPublicKey: readSpki,
  form: SPKI_FORM,
};

export function randomPrivateKey(name: PublicKeyKind["name"]): string {
  const { privateKey } = pairOf(name);
  return privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}

function pairOf(name: PublicKeyKind["name"]): { readonly privateKey: KeyObject } {
  if (name === "ed25519") return generateKeyPairSync("ed25519");
  if (name === "rsa") return generateKeyPairSync("rsa", { modulusLength: RSA_BITS_MIN });
  return generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}
