import { distance } from "fastest-levenshtein";

/** Up to `changesMax` changes, or a third. A `text` ending with `*` is compared with beginnings. */
export function nearest(
  text: string,
  list: readonly string[],
  changesMax?: number,
): string | undefined {
  const isBeginning = text.endsWith("*");
  const wanted = isBeginning ? text.slice(0, -1) : text;
  let found: string | undefined;
  let least = (changesMax ?? Math.ceil(wanted.length / 3)) + 1;
  for (const other of list) {
    // A character may be missing, or one too many.
    const starts = [-1, 0, 1].map((more) => other.slice(0, Math.max(0, wanted.length + more)));
    const compared = isBeginning ? starts : [other];
    const changes = Math.min(...compared.map((one) => distance(wanted, one)));
    if (changes < least) [found, least] = [other, changes];
  }
  return found;
}

export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return JSON.stringify(key) + (meant === undefined ? "" : ` (did you mean "${meant}"?)`);
}
