/** Lays rows out in columns; `width` cuts each line where a terminal would break it. */
export function formatTable(rows: readonly (readonly string[])[], width?: number): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => cut(line.trimEnd(), width))
    .join("\n");
}

function cut(line: string, width: number | undefined): string {
  if (width === undefined || line.length <= width) return line;
  return `${line.slice(0, Math.max(0, width - 1))}…`;
}
