const BYTES_SHOWN = 4_096;

/** The first 4,096 bytes of base64 as people read them: offset, hexadecimal, and what is ASCII. */
export function hexDump(base64: string): {
  readonly lines: readonly string[];
  readonly bytes: number;
} {
  const binary = atob(base64);
  const shown = binary.slice(0, BYTES_SHOWN);
  const lines: string[] = [];
  for (let at = 0; at < shown.length; at += 16) {
    const row = shown.slice(at, at + 16);
    const codes = Array.from(row, (char) => char.charCodeAt(0).toString(16).padStart(2, "0"));
    const text = row.replaceAll(/[^\x20-\x7e]/g, ".");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${codes.join(" ").padEnd(47)}  ${text}`);
  }
  return { lines, bytes: binary.length };
}
