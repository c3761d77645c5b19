import { randomBytes, randomUUID } from "node:crypto";
import type { Provider } from "./provider.ts";

/** An id as the sender would choose one. */
export function newEventId({ idPrefix = "evt_" }: Pick<Provider, "idPrefix">): string {
  return idPrefix === "uuid" ? randomUUID() : `${idPrefix}${randomBytes(12).toString("hex")}`;
}
