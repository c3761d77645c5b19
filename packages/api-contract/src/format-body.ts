export interface Token {
  readonly kind: "key" | "string" | "literal" | "mark";
  readonly text: string;
}

export interface JsonLine {
  readonly depth: number;
  readonly tokens: readonly Token[];
}

/** Deeper lines would be longer than a page can hold. */
const DEPTH_MAX = 200;

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/** Formats JSON without reading values: numbers keep their digits, and twin keys are kept. */
export function formatJson(text: string): readonly JsonLine[] | "not_json" | "too_deep" {
  if (!isJson(text)) return "not_json";
  const lines: JsonLine[] = [];
  let depth = 0;
  let line: Token[] = [];
  const endLine = () => {
    if (line.length > 0) lines.push({ depth, tokens: line });
    line = [];
  };
  const pieces = text.match(TOKENS) ?? [];
  for (const [at, piece] of pieces.entries()) {
    const next = pieces[at + 1];
    if (isClosing(piece) && !isOpening(pieces[at - 1])) {
      endLine();
      depth -= 1;
    }
    line.push({ kind: kindOf(piece, next), text: piece === ":" ? ": " : piece });
    if (piece === ",") endLine();
    if (!isOpening(piece) || isClosing(next)) continue;
    endLine();
    depth += 1;
    if (depth > DEPTH_MAX) return "too_deep";
  }
  endLine();
  return lines;
}

const isOpening = (piece: string | undefined) => piece === "{" || piece === "[";
const isClosing = (piece: string | undefined) => piece === "}" || piece === "]";

function kindOf(piece: string, next: string | undefined): Token["kind"] {
  if (isOpening(piece) || isClosing(piece) || piece === "," || piece === ":") return "mark";
  if (!piece.startsWith('"')) return "literal";
  return next === ":" ? "key" : "string";
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const textOf = ({ depth, tokens }: JsonLine): string =>
  "  ".repeat(depth) + tokens.map((token) => token.text).join("");

/** Undefined where it is not UTF-8. A character cut in two is left out. */
export function shownText(bytes: Uint8Array, isWhole: boolean): string | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return decoder.decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}
