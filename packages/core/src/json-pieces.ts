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
