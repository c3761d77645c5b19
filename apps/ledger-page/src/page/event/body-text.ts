export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Browsers lay out many short lines faster than a long one. */
const LINE_LENGTH_MAX = 4_096;

export function linesOf(text: string, isSmall: boolean): readonly string[] {
  const lines = text.split("\n");
  return isSmall ? lines : lines.flatMap((line) => cut(line));
}

function cut(line: string): readonly string[] {
  if (line.length <= LINE_LENGTH_MAX) return [line];
  const pieces = [];
  for (let at = 0; at < line.length; at += LINE_LENGTH_MAX) {
    pieces.push(line.slice(at, at + LINE_LENGTH_MAX));
  }
  return pieces;
}

export interface Match {
  readonly line: number;
  readonly at: number;
}

/** Ignores case. */
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
