/** Browsers lay out many short lines faster than a long one. */
const PIECES = /.{1,4096}/gs;

export function linesOf(text: string, isSmall: boolean): readonly string[] {
  const lines = text.split("\n");
  return isSmall ? lines : lines.flatMap((line) => line.match(PIECES) ?? line);
}
