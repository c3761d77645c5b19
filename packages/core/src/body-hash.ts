import { createHash } from "node:crypto";

/** SHA-256 of a body, base64url without padding: 43 characters. */
export function bodyHash(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("base64url");
}
