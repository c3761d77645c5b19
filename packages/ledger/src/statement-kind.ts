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
 * Classifies one SQL statement by its first words, after any comments, whitespace and semicolons. Only the
 * first statement of a string matters: the extended protocol refuses a second one.
 */
export function statementKind(text: string): StatementKind {
  const [first, second, third] = leadingWords(text);
  switch (first) {
    case "begin":
    case "start":
    case "commit":
    case "end":
    case "abort":
      return "control";
    case "rollback": {
      const target = second === "work" || second === "transaction" ? third : second;
      return target === "to" ? "savepoint_end" : "control";
    }
    case "prepare":
      return second === "transaction" ? "control" : "session";
    case "savepoint":
      return "savepoint";
    case "release":
      return "savepoint_end";
    case "set":
      return second === "local" || second === "transaction" || second === "constraints"
        ? "other"
        : "session";
    case "reset":
    case "discard":
    case "deallocate":
    case "listen":
    case "unlisten":
    case "load":
      return "session";
    default:
      return "other";
  }
}

const WORD = /"(?:[^"]|"")*"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;

/** The words at the beginning of a statement: in lower case, or unchanged in double quotes. */
export function* leadingWords(text: string): Generator<string> {
  let at = skipIgnored(text, 0);
  for (;;) {
    WORD.lastIndex = at;
    const word = WORD.exec(text)?.[0];
    if (word === undefined) return;
    yield word.startsWith('"') ? word : word.toLowerCase();
    at = skipIgnored(text, at + word.length);
  }
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
