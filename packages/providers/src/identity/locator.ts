import { createHash } from "node:crypto";
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

/** A field of a form. */
export const form =
  (name: string): Locator =>
  (reader) =>
    reader.form(name);

/**
 * Several places with a sign between, all of which must have something. A part that holds the sign is refused: two
 * identities could read the same.
 */
export const joined =
  (separator: string, ...locators: readonly Locator[]): Locator =>
  (reader) => {
    const texts: string[] = [];
    for (const locate of locators) {
      const found = locate(reader);
      if (typeof found === "string") return found;
      if (found.text.includes(separator)) return "malformed";
      texts.push(found.text);
    }
    return { text: texts.join(separator) };
  };

/**
 * For senders that give an event no id: the SHA-256 in hexadecimal of the bytes that values of the JSON body stand in.
 * The first must be there. Each counts with its length, so that none can grow at another's cost.
 */
export function jsonDigest(first: string, ...others: readonly string[]): Locator {
  const paths = [first, ...others].map((path) => (path === "" ? [] : path.split(".")));
  return (reader) => {
    const hash = createHash("sha256");
    for (const [index, path] of paths.entries()) {
      const bytes = reader.jsonBytes(path);
      if (bytes === "not_json") return bytes;
      if (bytes === "missing" && index === 0) return bytes;
      hash.update(bytes === "missing" ? "-\n" : `${bytes.length}\n`);
      if (bytes !== "missing") hash.update(bytes);
    }
    return { text: hash.digest("hex") };
  };
}

/** The SHA-256 of the body in hexadecimal: an id where the sender gives none. */
export const bodyDigest: Locator = ({ delivery }) => ({
  text: createHash("sha256").update(delivery.body).digest("hex"),
});

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
