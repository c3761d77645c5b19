import { createHash, timingSafeEqual } from "node:crypto";

/** A secret in the form that {@link isSameSecret} compares. */
export const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/**
 * Whether two secrets are the same, in constant time. Digests have equal lengths, so the comparison
 * tells nothing of the secret's.
 */
export const isSameSecret = (left: Buffer, right: Buffer): boolean => timingSafeEqual(left, right);
