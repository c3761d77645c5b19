import type { EventKey } from "@millrace/core";

/** Keys as three parallel arrays, the first parameters of the statements on many events. */
export function packKeys(
  keys: readonly (Omit<EventKey, "generation"> & { readonly generation?: number | undefined })[],
): [string[], string[], (number | null)[]] {
  return [
    keys.map((key) => key.source),
    keys.map((key) => key.eventId),
    keys.map((key) => key.generation ?? null),
  ];
}
