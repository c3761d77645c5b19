import { isStorableWithin } from "./event.ts";
import { parsePayload, parsePosition, textAt, valueAt } from "./payload.ts";

/** A value of a source's bodies by which its events are found: `customer`, at `data.customer`. */
export interface FindPath {
  readonly label: string;
  readonly path: string;
}

/** Keys of a search, in addition to the labels of values. */
export const SEARCH_KEYS: readonly string[] =
  "source tenant type status outcome error run since until body".split(" ");

const LABEL = /^[A-Za-z_][\w-]{0,39}$/;
const VALUE_BYTES_MAX = 64;

/** Reads `json:data.customer`, or `buyer=json:data.customer`; undefined for any other text. */
export function parseFind(text: string): FindPath | undefined {
  const at = text.indexOf("=json:");
  const position = parsePosition(text.slice(at + 1));
  if (position?.kind !== "json") return undefined;
  const path = position.name;
  const label = at === -1 ? path.slice(path.lastIndexOf(".") + 1) : text.slice(0, at);
  return LABEL.test(label) && !SEARCH_KEYS.includes(label) ? { label, path } : undefined;
}

/** A value as it is stored, searched, and shown: `customer: cus_1`. */
export const findText = (label: string, value: string): string => `${label}: ${value}`;

/** Texts, numbers, and booleans of at most 64 bytes. */
export function findValues(paths: readonly FindPath[], body?: Uint8Array): readonly string[] {
  const parsed = body && parsePayload(body);
  if (parsed === undefined) return [];
  return paths.flatMap(({ label, path }) => {
    const value = valueAt(parsed.value, path.split("."));
    if (!["string", "number", "boolean"].includes(typeof value)) return [];
    // A number beyond 2^53 keeps the digits that were sent.
    const isExact = typeof value !== "number" || Number.isSafeInteger(value);
    const text = isExact ? String(value) : (textAt(parsed.text, path) ?? "");
    return isStorableWithin(text, VALUE_BYTES_MAX) ? [findText(label, text)] : [];
  });
}
