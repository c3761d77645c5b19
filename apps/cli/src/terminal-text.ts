import type { Output } from "./context.ts";

// Controls, and what turns text around: a stranger's id or error must not steer a terminal.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text on one line, with everything escaped that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return " ";
    return `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`;
  });
}

export const nameOf = (id: string, generation: number): string =>
  printable(id) + (generation === 0 ? "" : ` (replay ${generation})`);

const COLUMNS_DEFAULT = 80;

/** Where a terminal breaks a line; undefined for what is no terminal. */
export function widthOf(to: Pick<Output, "isTTY" | "columns">): number | undefined {
  if (to.isTTY !== true) return undefined;
  // Some terminals say 0.
  return to.columns === undefined || to.columns < 1 ? COLUMNS_DEFAULT : to.columns;
}

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

interface Result {
  readonly json?: unknown;
  readonly text?: string | undefined;
}

export type Printer = ReturnType<typeof createPrinter>;

/** Prints the text of each result, or with `--json` its JSON on a line, if it has any. */
export function createPrinter(
  { stdout }: { readonly stdout: Output },
  asJson: true | undefined,
  stringify: (value: unknown) => string = JSON.stringify,
) {
  return ({ json, text }: Result): void => {
    if (asJson === true) text = json === undefined ? undefined : stringify(json);
    if (text !== undefined) stdout.write(`${text}\n`);
  };
}

interface List<Item> {
  readonly json: true | undefined;
  readonly heads: readonly string[];
  readonly rowOf: (item: Item) => readonly string[];
  /** Instead of an empty table. */
  readonly none: string;
}

/** Prints a table, cut at the width of the terminal, or a line of JSON for each item. */
export function writeList<Item>(
  { stdout }: { readonly stdout: Output },
  items: readonly Item[],
  { json, heads, rowOf, none }: List<Item>,
): void {
  const rows = () => [...(heads.length === 0 ? [] : [heads]), ...items.map(rowOf)];
  const table = () => (items.length === 0 ? none : formatTable(rows(), widthOf(stdout)));
  const text = json === true ? items.map((item) => JSON.stringify(item)).join("\n") : table();
  if (text !== "") stdout.write(`${text}\n`);
}

export function cut(line: string, width: number | undefined): string {
  if (width === undefined || line.length <= width) return line;
  return `${line.slice(0, Math.max(0, width - 1))}…`;
}
