import { generateKeyPairSync, type KeyObject } from "node:crypto";
import type { PublicKeyKind } from "./public-key-algorithm.ts";
import { decodeStrictly } from "./signature-encoding.ts";

// SubjectPublicKeyInfo of Ed25519 up to the key itself (RFC 8410, section 4).
const ED25519_SPKI = Buffer.from("302a300506032b6570032100", "hex");
const ED25519_KEY_BYTES = 32;

/** Ed25519 (RFC 8032): the key is 32 bytes in hexadecimal, the signature 64. */
export const ed25519: PublicKeyKind = {
  name: "ed25519",
  encoding: "hex",
  signatureLengthMax: 128,
  readPublicKey: (text) => {
    const key = decodeStrictly(text, "hex");
    return key?.length === ED25519_KEY_BYTES ? Buffer.concat([ED25519_SPKI, key]) : undefined;
  },
  form: "the public key in 64 hexadecimal digits",
};

/** ECDSA on P-256 with SHA-256: the key is SPKI in base64, the signature DER in base64. */
export const p256: PublicKeyKind = {
  name: "p256",
  encoding: "base64",
  signatureLengthMax: 96,
  readPublicKey: (text) => decodeStrictly(text, "base64"),
  form: "the verification key as it is shown: base64 without header lines",
};

/** A private key for development, as `publicKeyAlgorithm` takes it. */
export function randomPrivateKey({ name }: PublicKeyKind): string {
  const { privateKey } = pairOf(name);
  return privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}

function pairOf(name: PublicKeyKind["name"]): { readonly privateKey: KeyObject } {
  return name === "ed25519"
    ? generateKeyPairSync("ed25519")
    : generateKeyPairSync("ec", { namedCurve: "prime256v1" });
}
