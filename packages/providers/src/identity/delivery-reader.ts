import { readForm, type Delivery, type DeliveryHead, jsonBytesAt } from "@millrace/core";
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";

export type Found = { readonly text: string } | "missing" | "malformed" | "not_json";

/** Reads one verified delivery; its body is parsed when something in it is first asked for. */
export interface DeliveryReader {
  readonly delivery: Delivery;
  header(name: string): Found;
  json(path: readonly string[]): Found;
  /** The bytes of a value of the JSON body, by its path; the whole body by an empty one. */
  jsonBytes(path: readonly string[]): Uint8Array | "missing" | "not_json";
  /** The names of an object's members in the JSON body; none where there is no object. */
  jsonNames(path: readonly string[]): readonly string[];
  form(name: string): Found;
}

export function readDelivery(delivery: Delivery): DeliveryReader {
  let parsed: { readonly value: unknown } | undefined | "unread" = "unread";
  const read = () => (parsed === "unread" ? (parsed = parse(delivery.body)) : parsed);
  return {
    delivery,
    header(name) {
      const value = headerOf(delivery, name);
      if (value === undefined || value === "") return "missing";
      const text = textFromHeader(value);
      return text === undefined ? "malformed" : { text };
    },
    json(path) {
      const body = read();
      if (body === undefined) return "not_json";
      const value = follow(body.value, path);
      const found = isLarge(value) ? literalAt(delivery.body, path) : textOf(value);
      return isAmbiguous(found, delivery.body) ? "malformed" : found;
    },
    jsonBytes: (path) =>
      read() === undefined ? "not_json" : (jsonBytesAt(delivery.body, path) ?? "missing"),
    jsonNames(path) {
      const body = read();
      const value = body === undefined ? undefined : follow(body.value, path);
      return typeof value === "object" && value !== null ? Object.keys(value) : [];
    },
    form: (name) => textOf(readForm(delivery.body)?.find(([field]) => field === name)?.[1]),
  };
}

function parse(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
    // A byte order mark is no JSON, but some senders begin with one (RFC 8259, section 8.1).
    return { value: JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text) };
  } catch {
    return undefined;
  }
}

// Own properties only: "constructor" and "__proto__" of a plain object are nobody's id.
function follow(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}

function textOf(value: unknown): Found {
  if (value === undefined || value === null || value === "") return "missing";
  if (typeof value === "string") return { text: value };
  return typeof value === "number" ? { text: String(value) } : "malformed";
}

/** A whole number beyond 2^53 keeps the digits that were sent. */
const isLarge = (value: unknown): value is number =>
  typeof value === "number" && !Number.isSafeInteger(value);

function literalAt(body: Uint8Array, path: readonly string[]): Found {
  const text = Buffer.from(jsonBytesAt(body, path) ?? []).toString();
  return /^-?\d+$/.test(text) ? { text } : "malformed";
}

// Bytes that are no UTF-8 all read as U+FFFD, so two ids that differ could look the same.
function isAmbiguous(found: Found, body: Uint8Array): boolean {
  return typeof found === "object" && found.text.includes("\ufffd") && !isUtf8(body);
}

export type Locator = (reader: DeliveryReader) => Found;

export const header =
  (name: string): Locator =>
  (reader) =>
    reader.header(name.toLowerCase());

/** A value of the JSON body by its path, with dots between: `event.type`. */
export function json(path: string): Locator {
  const names = path.split(".");
  return (reader) => reader.json(names);
}

export const firstOf =
  (...locators: readonly Locator[]): Locator =>
  (reader) => {
    for (const locate of locators) {
      const found = locate(reader);
      if (found !== "missing") return found;
    }
    return "missing";
  };

export const form =
  (name: string): Locator =>
  (reader) =>
    reader.form(name);

/** Several positions with a sign between, all of which must have a value without that sign. */
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
 * For events without an id: the SHA-256 in hexadecimal of values of the JSON body, the first of
 * which must be there. Each counts with its length, so that none can grow at another's cost.
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
  /^(?:header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|json:(?:\$\.)?([^\s$.[\]*][^\s.[\]*]*(?:\.[^\s.[\]*]+)*))$/;

/** Reads a location as a config writes it: `header:x-acme-id` or `json:data.id`. */
export function parseLocation(
  text: string,
): { readonly kind: "header" | "json"; readonly name: string } | undefined {
  const [, headerName, path] = LOCATION.exec(text) ?? [];
  if (headerName !== undefined) return { kind: "header", name: headerName.toLowerCase() };
  if (path !== undefined) return { kind: "json", name: path };
  return undefined;
}

/** A header's value as it came: text of one character a byte (latin1), as node:http gives it. */
export function headerOf(
  delivery: Pick<DeliveryHead, "headers">,
  name: string,
): string | undefined {
  // The record may be a plain object, where "constructor" is a function and no header.
  const value: unknown = delivery.headers[name];
  return typeof value === "string" ? value : undefined;
}

/** False for text that no header can hold: writing it as latin1 would turn "Ł" into "A". */
export function isHeaderText(value: string): boolean {
  return !/[^\0-\xff]/.test(value);
}

/** Reads a header's bytes as UTF-8; undefined for other bytes, so that no two values meet. */
export function textFromHeader(value: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(value)) return value;
  if (!isHeaderText(value)) return undefined;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** Writes text as a header's value: its UTF-8 bytes, one character each. */
export function textToHeader(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
