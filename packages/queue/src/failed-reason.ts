const REASON_CHARS_MAX = 1_000;

/**
 * What a job shows of its failure: short, because the ledger has the whole of it, and of characters
 * that Postgres can store. A reason that it refused would leave the job active for ever.
 */
export function failedReason(code: string, message: string): string {
  const reason = `${code}: ${message}`.slice(0, REASON_CHARS_MAX).replaceAll("\0", "\u{FFFD}");
  // A trip through UTF-8 replaces half a surrogate pair, such as the cut may leave.
  return Buffer.from(reason, "utf8").toString("utf8");
}
