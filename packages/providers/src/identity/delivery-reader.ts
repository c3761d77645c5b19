import {
  jsonBytesAt,
  jsonOf,
  readForm,
  valueAt,
  type Delivery,
  type DeliveryHead,
} from "@millrace/core";
import { isUtf8 } from "node:buffer";
import { type DeliveryReader, type Found, locate } from "./locations.ts";

const READERS = new WeakMap<Delivery, DeliveryReader>();

/** One reader for a delivery, so that its body is parsed once. */
export function readDelivery(delivery: Delivery): DeliveryReader {
  const known = READERS.get(delivery);
  if (known !== undefined) return known;
  const reader = createReader(delivery);
  READERS.set(delivery, reader);
  return reader;
}

function createReader(delivery: Delivery): DeliveryReader {
  let parsed: { readonly value: unknown } | undefined;
  const json = () => (parsed ??= { value: parse(delivery.body) }).value;
  const reader: DeliveryReader = {
    delivery,
    read(location) {
      const found = locate(location)(reader);
      return typeof found === "string" ? undefined : found.text;
    },
    header(name) {
      const value = headerOf(delivery, name);
      if (value === undefined || value === "") return "missing";
      const text = textFromHeader(value);
      return text === undefined ? "malformed" : { text };
    },
    json(path) {
      if (json() === undefined) return "not_json";
      const value = valueAt(json(), path);
      const found = isLarge(value) ? literalAt(delivery.body, path) : textOf(value);
      return isAmbiguous(found, delivery.body) ? "malformed" : found;
    },
    jsonBytes: (path) =>
      json() === undefined ? "not_json" : (jsonBytesAt(delivery.body, path) ?? "missing"),
    jsonNames(path) {
      const value = valueAt(json(), path);
      return typeof value === "object" && value !== null ? Object.keys(value) : [];
    },
    form: (name) => textOf(readForm(delivery.body)?.find(([field]) => field === name)?.[1]),
    query(name) {
      const values = new URLSearchParams(queryOf(delivery.url)).getAll(name);
      return values.length === 1 ? textOf(values[0]) : "missing";
    },
  };
  return reader;
}

/** The query of a URL from its "?" on; empty where there is none. */
export function queryOf(url: string): string {
  return url.includes("?") ? url.slice(url.indexOf("?")) : "";
}

function parse(body: Uint8Array): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  // A byte order mark is no JSON, but some senders begin with one (RFC 8259, section 8.1).
  return jsonOf(text.startsWith("\ufeff") ? text.slice(1) : text);
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
function textFromHeader(value: string): string | undefined {
  if (/^[\x20-\x7e]*$/.test(value)) return value;
  if (!isHeaderText(value)) return undefined;
  const bytes = Buffer.from(value, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** Writes text as a header's value: its UTF-8 bytes, one character each. */
export function textToHeader(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
