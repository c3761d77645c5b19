import { randomBytes, randomUUID } from "node:crypto";
import type { Provider } from "@millrace/core";

/** Providers whose ids are UUIDs, and what the others' begin with where it is not `evt_`. */
const UUIDS = new Set(["github", "gitlab", "linear", "shopify", "square", "twilio"]);
const PREFIXES: Readonly<Record<string, string>> = {
  slack: "Ev",
  "standard-webhooks": "msg_",
  svix: "msg_",
};

/** A fresh event id in the look of the provider's own. */
export function newEventId(provider: Provider): string {
  if (UUIDS.has(provider.name)) return randomUUID();
  const prefix = Object.hasOwn(PREFIXES, provider.name) ? PREFIXES[provider.name] : "evt_";
  return `${prefix}${randomBytes(12).toString("hex")}`;
}
