import { randomBytes, randomUUID } from "node:crypto";
import type { Provider } from "@millrace/core";

const KEY_BYTES = 32;

/** A secret as Standard Webhooks, Svix and Stripe write it: `whsec_` and base64. */
export const randomWhsec = (): string => `whsec_${randomBytes(KEY_BYTES).toString("base64")}`;

export const randomHex = (): string => randomBytes(KEY_BYTES).toString("hex");

/** Makes secrets of a sender's own look: text in front, and so many bytes. */
export const randomText =
  (prefix: string, bytes: number, encoding: "hex" | "base64url") => (): string =>
    prefix + randomBytes(bytes).toString(encoding);

/** Providers whose ids are UUIDs, and the beginnings of the others' ids other than `evt_`. */
const UUIDS = new Set(["github", "gitlab", "linear", "shopify", "square", "twilio"]);
const PREFIXES: Readonly<Record<string, string>> = {
  slack: "Ev",
  "standard-webhooks": "msg_",
  svix: "msg_",
};

export function newEventId(provider: Provider): string {
  if (UUIDS.has(provider.name)) return randomUUID();
  const prefix = Object.hasOwn(PREFIXES, provider.name) ? PREFIXES[provider.name] : "evt_";
  return `${prefix}${randomBytes(12).toString("hex")}`;
}
