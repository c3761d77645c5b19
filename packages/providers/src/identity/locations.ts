import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import {
  jsonBytesAt,
  jsonOf,
  parsePosition,
  readForm,
  valueAt,
  type Delivery,
  type DeliveryHead,
  type Position,
} from "@millrace/core";

export type Found = { readonly text: string } | "missing" | "malformed" | "not_json";

/** Reads one verified delivery; its body is parsed when something in it is first asked for. */
export interface DeliveryReader {
  readonly delivery: Delivery;
  /** The text at a location, such as `json:challenge` or `query:hub.challenge`. */
  readonly read: (location: string) => string | undefined;
  header(name: string): Found;
  json(path: readonly string[]): Found;
  /** The bytes of a value of the JSON body, by its path; the whole body by an empty one. */
  jsonBytes(path: readonly string[]): Uint8Array | "missing" | "not_json";
  /** The names of an object's members in the JSON body; none where there is no object. */
  jsonNames(path: readonly string[]): readonly string[];
  form(name: string): Found;
  /** A value of the query that is there once, decoded. */
  query(name: string): Found;
}

/** Finds a text in a verified delivery. */
export interface Locator {
  (reader: DeliveryReader): Found;
  /** The location that a sample writes to. */
  readonly place?: string | undefined;
}

/**
 * The position of an id or a type: `header:x-acme-id`, `json:data.id`, `form:MessageSid`, or
 * several with text between (`{json:type}.{json:action}`), of which none may contain that text. Of
 * a list the first that is there counts.
 */
export type Location = string | Locator | readonly (string | Locator)[];

const PLACES = /\{([^{}]+)\}/;

/** The positions that a text names, and what stands before, between and behind them. */
export function parseTemplate(
  text: string,
): { readonly places: readonly Position[]; readonly texts: readonly string[] } | undefined {
  const isTemplate = text.includes("{");
  const pieces = isTemplate ? text.split(PLACES) : ["", text, ""];
  const places = pieces.filter((_, index) => index % 2 === 1).map(parsePosition);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  // One text between all of them, so that no part can take from the next.
  const [between = "-", ...others] = texts.slice(1, -1);
  const isBounded = between !== "" && others.every((other) => other === between);
  if (!places.every((place) => place !== undefined) || !isBounded) return undefined;
  return texts.some((piece) => /[{}]/.test(piece)) ? undefined : { places, texts };
}

/** The text that a sample is written by: the location's first that names a position. */
export function writableText(location: Location | undefined): string | undefined {
  const texts = [location ?? []].flat().map((one) => (typeof one === "string" ? one : one.place));
  return texts.find((text) => text !== undefined);
}

/** The positions of a location that a sample is written to. */
export function placesOf(location: Location | undefined): readonly Position[] {
  return parseTemplate(writableText(location) ?? "{")?.places ?? [];
}

/** @throws RangeError for a text that is no location */
export function locate(location: Location): Locator {
  if (typeof location === "function") return location;
  if (typeof location === "string") return locateText(location);
  const locators = location.map(locate);
  return (reader) => {
    for (const find of locators) {
      const found = find(reader);
      if (found !== "missing") return found;
    }
    return "missing";
  };
}

function locateText(text: string): Locator {
  const { places, texts } = parseTemplate(text) ?? { places: [], texts: [] };
  const [only, ...others] = places.map(locatePlace);
  if (only === undefined) throw new RangeError(`"${text}" is no location`);
  const [before = "", between = ""] = texts;
  const behind = texts.at(-1) ?? "";
  const find = others.length === 0 ? only : joined(between, only, ...others);
  if (before + behind === "") return find;
  return (reader) => {
    const found = find(reader);
    return typeof found === "string" ? found : { text: before + found.text + behind };
  };
}

/** Several positions with a text between, all of which must have a value without that text. */
export function joined(separator: string, ...locators: readonly Locator[]): Locator {
  return (reader) => {
    const texts: string[] = [];
    for (const find of locators) {
      const found = find(reader);
      if (typeof found === "string") return found;
      if (found.text.includes(separator)) return "malformed";
      texts.push(found.text);
    }
    return { text: texts.join(separator) };
  };
}

function locatePlace({ kind, name }: Position): Locator {
  if (kind === "header") return (reader) => reader.header(name);
  if (kind === "form") return (reader) => reader.form(name);
  if (kind === "query") return (reader) => reader.query(name);
  const path = name.split(".");
  return (reader) => reader.json(path);
}

/**
 * An id for events without one: the SHA-256 in hexadecimal of values of the JSON body (`json:` is
 * all of it), the first of which must be there; without any, of the body's bytes. Each value counts
 * with its length, so that none can grow at another's cost.
 */
export function digest(...texts: readonly string[]): Locator {
  if (texts.length === 0) {
    return ({ delivery }) => ({ text: createHash("sha256").update(delivery.body).digest("hex") });
  }
  const readers = texts.map(readBytes);
  const find = (reader: DeliveryReader): Found => {
    const hash = createHash("sha256");
    for (const [index, read] of readers.entries()) {
      const bytes = read(reader);
      if (bytes === "not_json" || bytes === "malformed") return bytes;
      if (bytes === "missing" && index === 0) return bytes;
      hash.update(bytes === "missing" ? "-\n" : `${bytes.length}\n`);
      if (bytes !== "missing") hash.update(bytes);
    }
    return { text: hash.digest("hex") };
  };
  return Object.assign(find, { place: texts[0] });
}

function readBytes(text: string): (reader: DeliveryReader) => Uint8Array | Exclude<Found, object> {
  const place = parsePosition(text);
  const path = place?.kind === "json" ? place.name.split(".") : [];
  if (path.length > 0 || text === "json:") return (reader) => reader.jsonBytes(path);
  const find = locate(text);
  return (reader) => {
    const found = find(reader);
    return typeof found === "string" ? found : Buffer.from(found.text);
  };
}

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
