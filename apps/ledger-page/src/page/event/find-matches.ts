/** The position of a match: a line, and the column in it. */
export interface Match {
  readonly line: number;
  readonly at: number;
}

/** Finds a text in lines, in order, whatever the letter case; nothing is found of an empty one. */
export function findMatches(lines: readonly string[], text: string): readonly Match[] {
  if (text === "") return [];
  const wanted = text.toLowerCase();
  return lines.flatMap((content, line) => {
    const matches: Match[] = [];
    const searched = content.toLowerCase();
    for (let at = searched.indexOf(wanted); at >= 0;) {
      matches.push({ line, at });
      at = searched.indexOf(wanted, at + wanted.length);
    }
    return matches;
  });
}
