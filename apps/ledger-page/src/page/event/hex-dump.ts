const BYTES_SHOWN = 4_096;

/** The first 4,096 bytes as people read them: offset, hexadecimal, and what is ASCII. */
export function hexDump(bytes: Uint8Array): readonly string[] {
  const lines: string[] = [];
  const end = Math.min(bytes.length, BYTES_SHOWN);
  for (let at = 0; at < end; at += 16) {
    const row = [...bytes.subarray(at, Math.min(at + 16, end))];
    const codes = row.map((byte) => byte.toString(16).padStart(2, "0"));
    const text = row.map((byte) => (byte < 0x20 || byte > 0x7e ? "." : String.fromCharCode(byte)));
    lines.push(
      `${at.toString(16).padStart(6, "0")}  ${codes.join(" ").padEnd(47)}  ${text.join("")}`,
    );
  }
  return lines;
}
