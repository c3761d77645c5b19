import type { Delivery } from "@millrace/core";
import { readDelivery, type DeliveryReader } from "./delivery-reader.ts";
import { locate } from "./locations.ts";

/** A request as the functions of a provider read it. */
export interface ProviderRequest extends DeliveryReader {
  /** The text at a location, such as `json:challenge` or `query:hub.challenge`. */
  readonly read: (location: string) => string | undefined;
}

export function createRequest(delivery: Delivery): ProviderRequest {
  const reader = readDelivery(delivery);
  return {
    ...reader,
    read(location) {
      const found = locate(location)(reader);
      return typeof found === "string" ? undefined : found.text;
    },
  };
}
