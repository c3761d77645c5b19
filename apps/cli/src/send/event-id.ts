import { randomBytes, randomUUID } from "node:crypto";
import type { Provider } from "@millrace/core";

/** A fresh event id in the look of the provider's own. */
export function newEventId(provider: Provider): string {
  if (provider.name === "github") return randomUUID();
  const prefix = provider.name === "standard-webhooks" ? "msg" : "evt";
  return `${prefix}_${randomBytes(12).toString("hex")}`;
}
