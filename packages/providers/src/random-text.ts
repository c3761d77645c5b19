import { randomBytes } from "node:crypto";
import { randomPrivateKey } from "./signature/public-key-algorithm.ts";
import type { ParsedSignature } from "./signature/signature-options.ts";

/** A secret for development, in the form that a sender's own would have. */
export function randomSecret({
  algorithm,
  key,
}: Pick<ParsedSignature, "algorithm" | "key">): string {
  if (algorithm === "ed25519" || algorithm === "p256" || algorithm === "rsa") {
    return randomPrivateKey(algorithm);
  }
  const bytes = randomBytes(KEY_BYTES);
  return [key].flat()[0] === "base64" ? `whsec_${bytes.toString("base64")}` : bytes.toString("hex");
}

const KEY_BYTES = 32;
