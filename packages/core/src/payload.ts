import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";

/**
 * Parses an event's body: JSON in UTF-8, or the JSON in the one field `payload` of a form, as
 * GitHub (`content_type: form`) and Slack send it. Undefined for any other body.
 * Source: https://docs.github.com/webhooks/webhook-events-and-payloads
 */
export function parsePayload(
  body: Uint8Array,
): { readonly value: unknown; readonly text: string } | undefined {
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    return undefined;
  }
  return parseJson(text) ?? parseJson(formPayload(body) ?? "");
}

/** A position in a delivery. Only a `json` one is in the body of an event as well. */
export interface Position {
  readonly kind: "header" | "json" | "form" | "query";
  readonly name: string;
}

const POSITION =
  /^(?:header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|json:(?:\$\.)?([^\s$.[\]*{}][^\s.[\]*{}]*(?:\.[^\s.[\]*{}]+)*)|(form|query):([^\s{}]+))$/;

/** Reads a position as a config writes it; undefined for any other text. */
export function parsePosition(text: string): Position | undefined {
  const [, header, json, kind, name] = POSITION.exec(text) ?? [];
  if (header !== undefined) return { kind: "header", name: header.toLowerCase() };
  if (json !== undefined) return { kind: "json", name: json };
  if (name === undefined) return undefined;
  return { kind: kind === "form" ? "form" : "query", name };
}

/** Own properties only: "constructor" and "__proto__" of a plain object are nobody's value. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = Reflect.get(at, name);
  }
  return at;
}

/** Levels of nesting up to which a payload is shown; JSON.stringify fails some thousand deep. */
const SHOWN_DEPTH_MAX = 1_000;

/** A body's JSON to write out again; null where it has none, or is nested too deep. */
export function shownPayload(body: Uint8Array): JsonText | null {
  const parsed = parsePayload(body);
  if (parsed === undefined) return null;
  // A level takes two bytes at least.
  const mayBeDeep = body.byteLength > 2 * SHOWN_DEPTH_MAX;
  const isTooDeep = mayBeDeep && isDeeperThan(parsed.value, SHOWN_DEPTH_MAX);
  return isTooDeep ? null : new JsonText(parsed.text);
}

/** JSON that goes into other JSON as it came: its numbers keep their digits. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Writes JSON as `JSON.stringify` does, and each `JsonText` in it as its text. */
export function stringifyJson(value: unknown): string {
  const texts: string[] = [];
  const mark = randomUUID();
  const json = JSON.stringify(value, (_, each: unknown) =>
    each instanceof JsonText ? `${mark}${texts.push(each.text) - 1}` : each,
  );
  if (texts.length === 0) return json;
  return json.replace(new RegExp(`"${mark}(\\d+)"`, "g"), (_, at) => texts[Number(at)] ?? "null");
}

/** The value at a path, as it was sent: a string's characters, else JSON. Undefined for null. */
export function textAt(json: string, path: string): string | undefined {
  const bytes = jsonBytesAt(Buffer.from(json), path.split("."));
  if (bytes === undefined) return undefined;
  const text = Buffer.from(bytes).toString();
  if (text === "null") return undefined;
  return text.startsWith('"') ? String(JSON.parse(text)) : text;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? Object.values(item) : [],
    );
  }
  return false;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function formPayload(body: Uint8Array): string | undefined {
  const fields = readForm(body)?.filter(([name]) => name === "payload") ?? [];
  return fields.length === 1 ? fields[0]?.[1] : undefined;
}

function parseJson(text: string): { readonly value: unknown; readonly text: string } | undefined {
  const value = jsonOf(text);
  return value === undefined ? undefined : { value, text };
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type FormField = readonly [name: string, value: string];

/** Strict: a replacement character would make two bodies read alike. */
export function readForm(body: Uint8Array): readonly FormField[] | undefined {
  if (!isUtf8(body)) return undefined;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  try {
    return text
      .split("&")
      .filter((pair) => pair !== "")
      .map((pair) => {
        const at = pair.includes("=") ? pair.indexOf("=") : pair.length;
        return [decode(pair.slice(0, at)), decode(pair.slice(at + 1))] as const;
      });
  } catch {
    return undefined;
  }
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** One item of an array, or one member of an object with its name. */
export interface JsonPiece {
  readonly name: string | undefined;
  readonly bytes: Uint8Array;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);
const BOM = Buffer.from("\ufeff", "utf8");

/**
 * Cuts JSON that is known to parse into the bytes of its items or members; a plain value has none.
 * In UTF-8 no byte of a longer character looks like one of these signs.
 */
export function jsonPieces(json: Uint8Array): readonly JsonPiece[] {
  const pieces: JsonPiece[] = [];
  const hasBom = BOM.every((byte, index) => json[index] === byte);
  let at = skipSpace(json, hasBom ? BOM.length : 0);
  if (!OPENING.has(json[at] ?? 0)) return pieces;
  at = skipSpace(json, at + 1);
  while (at < json.length && !CLOSING.has(json[at] ?? 0)) {
    const end = endOfValue(json, at);
    const next = skipSpace(json, end);
    if (json[next] === COLON) {
      const start = skipSpace(json, next + 1);
      const valueEnd = endOfValue(json, start);
      const name = String(JSON.parse(Buffer.from(json.subarray(at, end)).toString("utf8")));
      pieces.push({ name, bytes: json.subarray(start, valueEnd) });
      at = skipSpace(json, valueEnd);
    } else {
      pieces.push({ name: undefined, bytes: json.subarray(at, end) });
      at = next;
    }
    if (json[at] === COMMA) at = skipSpace(json, at + 1);
  }
  return pieces;
}

/** The bytes at a path of names or indexes; of a name that comes twice the last, as JSON.parse. */
export function jsonBytesAt(json: Uint8Array, path: readonly string[]): Uint8Array | undefined {
  let at: Uint8Array | undefined = json;
  for (const name of path) {
    const isWanted = (piece: JsonPiece, index: number) => (piece.name ?? String(index)) === name;
    at = at && jsonPieces(at).findLast(isWanted)?.bytes;
  }
  return at;
}

function endOfValue(json: Uint8Array, start: number): number {
  let depth = 0;
  let at = start;
  while (at < json.length) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at);
    else {
      if (OPENING.has(byte)) depth += 1;
      else if (CLOSING.has(byte)) {
        if (depth === 0) return at;
        depth -= 1;
      } else if (depth === 0 && (byte === COMMA || byte === COLON || SPACE.has(byte))) return at;
      at += 1;
    }
    if (depth === 0 && (byte === QUOTE || CLOSING.has(byte))) return at;
  }
  return at;
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function skipSpace(json: Uint8Array, start: number): number {
  let at = start;
  while (SPACE.has(json[at] ?? 0)) at += 1;
  return at;
}
