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
    const distance = isBeginning
      ? Math.min(...starts(other, wanted.length).map((start) => editDistance(wanted, start)))
      : editDistance(wanted, other);
    if (distance < least) [found, least] = [other, distance];
  }
  return found;
}

export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return JSON.stringify(key) + (meant === undefined ? "" : ` (did you mean "${meant}"?)`);
}

/** A character may be missing, or one too many. */
const starts = (text: string, length: number): string[] =>
  [-1, 0, 1].map((more) => text.slice(0, Math.max(0, length + more)));

/** Levenshtein's distance: characters to insert, remove, or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    let diagonal = index;
    const next = [index + 1];
    for (let at = 0; at < to.length; at += 1) {
      const above = row[at + 1] ?? 0;
      const change = diagonal + (from[index] === to[at] ? 0 : 1);
      next.push(Math.min(change, above + 1, (next[at] ?? 0) + 1));
      diagonal = above;
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
