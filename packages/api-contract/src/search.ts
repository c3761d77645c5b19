import { findText, MillraceError, SEARCH_KEYS } from "@millrace/core";

/** A search as it is read: all of it must match. */
export interface Search {
  readonly filter: Readonly<Record<string, string>>;
  /** Values of a source's `find`, as they are stored: `customer: cus_1`. */
  readonly values: readonly string[];
  /** Each is an event's id, a part of one, or a value under any name. */
  readonly words: readonly string[];
  /** Texts that the body must contain. */
  readonly body: readonly string[];
}

/** `key:value`, `key:"a value"`, or either without a key. */
const TERM = /(?:([A-Za-z_][\w-]*):)?(?:"((?:[^"\\]|\\.)*)"|([^\s"]+)|)(?:\s+|$)/y;

/**
 * Reads `source:stripe since:1h customer:cus_1 evt_12`. Without `labels`, the names of the sources'
 * `find`, any name is taken for one. `keys` are those of the list's filters.
 * @throws `invalid_request` that names the word
 */
export function parseSearch(
  text: string,
  labels?: readonly string[],
  keys: readonly string[] = SEARCH_KEYS,
): Search {
  const filter: Record<string, string> = {};
  const values: string[] = [];
  const words: string[] = [];
  const body: string[] = [];
  const rest = text.trim();
  TERM.lastIndex = 0;
  while (TERM.lastIndex < rest.length) {
    const at = TERM.lastIndex;
    const [term = "", key, quoted, plain] = TERM.exec(rest) ?? [];
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "";
    if (term === "") throw refused(rest.slice(at), "its quote is not closed");
    if (value === "") throw refused(term, "nothing is asked for");
    if (key === undefined) words.push(value);
    else if (key === "body" && keys.includes(key)) body.push(value);
    else if (keys.includes(key)) {
      if (key in filter) throw refused(term, `\`${key}:\` is there twice`);
      filter[key] = value;
    } else if (labels?.includes(key) === false) {
      const known = [...new Set([...keys, ...labels])].join(", ");
      throw refused(term, `\`${key}\` is not among ${known}. In quotes it is searched as it is`);
    } else values.push(findText(key, value));
  }
  return { filter, values, words, body };
}

const refused = (term: string, why: string) =>
  new MillraceError("invalid_request", `Cannot search for ${JSON.stringify(term.trim())}: ${why}`);

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(\d{1,9})(ms|s|m|h|d)$/;

/** Milliseconds of `90s`, `15m`, `1h`, `7d`; undefined for any other text. */
export function readDuration(text: string): number | undefined {
  const read = DURATION.exec(text);
  return read === null ? undefined : Number(read[1]) * UNITS_MS[read[2] as keyof typeof UNITS_MS];
}

/** A time in ISO 8601, or an age (`1h`); undefined for any other text. */
export function readMoment(text: string): Date | undefined {
  const ageMs = readDuration(text);
  const date = new Date(ageMs === undefined ? text : Date.now() - ageMs);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
