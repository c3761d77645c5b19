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
const PIECES = /.{1,4096}/gs;

export function linesOf(text: string, isSmall: boolean): readonly string[] {
  const lines = text.split("\n");
  return isSmall ? lines : lines.flatMap((line) => line.match(PIECES) ?? line);
}
