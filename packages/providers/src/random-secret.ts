import { randomBytes } from "node:crypto";

const KEY_BYTES = 32;

/** A secret as Standard Webhooks, Svix and Stripe write it: `whsec_` and base64. */
export const randomWhsec = (): string => `whsec_${randomBytes(KEY_BYTES).toString("base64")}`;

/** A secret as plain text: 64 hexadecimal digits. */
export const randomHex = (): string => randomBytes(KEY_BYTES).toString("hex");

/** Makes secrets of a sender's own look: text in front, and so many bytes. */
export const randomText =
  (prefix: string, bytes: number, encoding: "hex" | "base64url") => (): string =>
    prefix + randomBytes(bytes).toString(encoding);
