import { isUtf8 } from "node:buffer";
import type { DeliveryHead } from "@millrace/core";

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
