/** A table in Markdown, from rows that may leave out columns. */
export function table(rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [
    keys,
    keys.map(() => "---"),
    ...rows.map((row) => keys.map((key) => row[key] ?? "")),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
