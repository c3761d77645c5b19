const BYTES_MAX = 8_192;
const ELLIPSIS = "…";

/** Text as the ledger stores it: at most `bytesMax` bytes, without what Postgres cannot store. */
export function cutText(text: string, bytesMax: number = BYTES_MAX): string {
  const storable = text.replaceAll(/\0|\p{Surrogate}/gu, "\u{FFFD}");
  const bytes = Buffer.from(storable);
  if (bytes.byteLength <= bytesMax) return storable;
  let end = bytesMax - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character; the cut is in front of the first byte of one.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + ELLIPSIS;
}

/** Null for text that was not given. */
export const cutGiven = (text: string | null | undefined, bytesMax?: number): string | null =>
  text === null || text === undefined ? null : cutText(text, bytesMax);

/** jsonb takes no text that Postgres cannot store, not even escaped. */
export const toJson = (value: object): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? cutText(part) : part));
