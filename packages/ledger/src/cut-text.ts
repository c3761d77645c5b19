const BYTES_MAX = 8_192;
const ELLIPSIS = "…";

/** Text as the ledger keeps it: at most 8 kB of UTF-8, without what Postgres cannot store. */
export function cutText(text: string): string {
  const storable = text.replaceAll(/\0|\p{Surrogate}/gu, "\u{FFFD}");
  const bytes = Buffer.from(storable);
  if (bytes.byteLength <= BYTES_MAX) return storable;
  let end = BYTES_MAX - Buffer.byteLength(ELLIPSIS);
  // Bytes 10xxxxxx continue a character; a cut stands before the first byte of one.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + ELLIPSIS;
}
