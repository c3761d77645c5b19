import type { DeliveryReader, Found } from "./delivery-reader.ts";

/** Finds an id or a type in a delivery. */
export type Locator = (reader: DeliveryReader) => Found;

/** A header's value. */
export const header =
  (name: string): Locator =>
  (reader) =>
    reader.header(name.toLowerCase());

/** A value of the JSON body by its path, with dots between: `event.type`. */
export function json(path: string): Locator {
  const names = path.split(".");
  return (reader) => reader.json(names);
}

/** The first of several places that has something. */
export const firstOf =
  (...locators: readonly Locator[]): Locator =>
  (reader) => {
    for (const locate of locators) {
      const found = locate(reader);
      if (found !== "missing") return found;
    }
    return "missing";
  };

const LOCATION =
  /^(?:header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|json:(?:\$\.)?([^\s$.[\]][^\s.[\]]*(?:\.[^\s.[\]]+)*))$/;

/** Reads a location as a config writes it: `header:x-acme-id` or `json:data.id`. */
export function parseLocation(
  text: string,
): { readonly kind: "header" | "json"; readonly name: string } | undefined {
  const [, headerName, path] = LOCATION.exec(text) ?? [];
  if (headerName !== undefined) return { kind: "header", name: headerName.toLowerCase() };
  if (path !== undefined) return { kind: "json", name: path };
  return undefined;
}
