import { createHash, hash } from "node:crypto";
import type { EnvelopedEvent } from "./event.ts";
import type { SignedMessage } from "./provider.ts";

// Every digest here is SHA-256 as base64url without padding: 43 characters.

/** The digest of a body. */
export function bodyHash(body: Uint8Array): string {
  return hash("sha256", body, "base64url");
}

/** The digest of headers, written as JSON. A job's headers keep their order. */
export function headersHash(headers: string): string {
  return hash("sha256", headers, "base64url");
}

/** The digest of a signed message. */
export function messageDigest(message: SignedMessage): string {
  const state = createHash("sha256");
  for (const piece of message) {
    if (typeof piece === "string") state.update(piece, "latin1");
    else state.update(piece);
  }
  return state.digest("base64url");
}

/** The digest of one of several events that came in one signed message, by its index. */
export function partDigest(digest: string, index: number): string {
  return hash("sha256", `${digest}#${index}`, "base64url");
}

/**
 * The digest of the signed message of an event whose id is not signed. Where the message is the
 * body alone, the body's hash is that digest.
 */
export function signedDigest(event: EnvelopedEvent): string {
  return event.digest ?? event.bodyHash;
}
