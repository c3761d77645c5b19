import { isUtf8 } from "node:buffer";
import type { Delivery } from "@millrace/core";
import { readForm } from "../form-fields.ts";
import { headerOf, textFromHeader } from "../headers.ts";
import { jsonBytesAt } from "./json-pieces.ts";

/** What was found where something was looked for: text, nothing, or something that is no text. */
export type Found = { readonly text: string } | "missing" | "malformed" | "not_json";

/** Reads one verified delivery; its body is parsed when something in it is first asked for. */
export interface DeliveryReader {
  readonly delivery: Delivery;
  header(name: string): Found;
  /** A value by its path of own properties. Whole numbers are given as their decimal text. */
  json(path: readonly string[]): Found;
  /** The bytes that a value of the JSON body stands in, by its path; the whole body by an empty one. */
  jsonBytes(path: readonly string[]): Uint8Array | "missing" | "not_json";
  /** The names of an object's members in the JSON body; none where there is no object. */
  jsonNames(path: readonly string[]): readonly string[];
  /** A field of a form by its name; `missing` in a body that is no form. */
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
      const found = textOf(follow(body.value, path));
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
  // Beyond 2^53 two numbers of the sender's can be one of ours.
  return typeof value === "number" && Number.isSafeInteger(value)
    ? { text: String(value) }
    : "malformed";
}

// Bytes that are no UTF-8 all read as U+FFFD, so two ids that differ could look the same.
function isAmbiguous(found: Found, body: Uint8Array): boolean {
  return typeof found === "object" && found.text.includes("\ufffd") && !isUtf8(body);
}
