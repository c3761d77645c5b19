/** What a statement does to the transaction or the session that it runs in. */
export type StatementKind =
  /** Begins or ends a transaction. */
  | "control"
  /** Opens a savepoint. */
  | "savepoint"
  /** Ends a savepoint, or goes back to it. */
  | "savepoint_end"
  /** Changes the session beyond the transaction. */
  | "session"
  | "other";

/**
 * Classifies one SQL statement by its first words, behind any comments, space and semicolons. Only
 * the first statement of a string is looked at: the extended protocol refuses a second one.
 */
export function statementKind(text: string): StatementKind {
  const [first, second, third] = leadingWords(text, 3);
  switch (first) {
    case "BEGIN":
    case "START":
    case "COMMIT":
    case "END":
    case "ABORT":
      return "control";
    case "ROLLBACK": {
      const target = second === "WORK" || second === "TRANSACTION" ? third : second;
      return target === "TO" ? "savepoint_end" : "control";
    }
    case "PREPARE":
      return second === "TRANSACTION" ? "control" : "session";
    case "SAVEPOINT":
      return "savepoint";
    case "RELEASE":
      return "savepoint_end";
    case "SET":
      return second === "LOCAL" || second === "TRANSACTION" || second === "CONSTRAINTS"
        ? "other"
        : "session";
    case "RESET":
    case "DISCARD":
    case "DEALLOCATE":
    case "LISTEN":
    case "UNLISTEN":
    case "LOAD":
      return "session";
    default:
      return "other";
  }
}

function leadingWords(text: string, count: number): string[] {
  const words: string[] = [];
  let at = 0;
  while (words.length < count) {
    at = skipIgnored(text, at);
    const word = /^[A-Za-z_]+/.exec(text.slice(at, at + 32))?.[0];
    if (word === undefined) break;
    words.push(word.toUpperCase());
    at += word.length;
  }
  return words;
}

// Space, semicolons, line comments, and block comments, which nest in Postgres.
function skipIgnored(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    if (/[\s;]/.test(text.charAt(at))) at += 1;
    else if (text.startsWith("--", at)) at = endOfLine(text, at);
    else if (text.startsWith("/*", at)) at = endOfBlockComment(text, at);
    else break;
  }
  return at;
}

function endOfLine(text: string, from: number): number {
  const length = text.slice(from).search(/[\r\n]/);
  return length === -1 ? text.length : from + length;
}

function endOfBlockComment(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text.startsWith("/*", at)) depth += 1;
    else if (text.startsWith("*/", at)) depth -= 1;
    else continue;
    at += 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
