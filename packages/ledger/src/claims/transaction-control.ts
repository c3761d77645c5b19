import { MillraceError } from "@millrace/core";
import type pg from "pg";

/** Drops `queryMode`, `rows`, and Submittables of drizzle's config: they can hold a portal open. */
export function readQuery(
  config: unknown,
  values: unknown[] | undefined,
): pg.QueryConfig & { queryMode: "extended" } {
  const given = typeof config === "string" ? { text: config } : config;
  if (!isQueryConfig(given)) {
    throw new MillraceError(
      "tx_control_refused",
      "Cannot run this in a handler: it is not a query",
    );
  }
  const rowMode = given.rowMode === undefined ? {} : { rowMode: given.rowMode };
  // A statement prepared by such a name would keep the ledger's own off the connection.
  const isOurs = typeof given.name === "string" && given.name.startsWith("millrace_");
  return {
    text: given.text,
    values: values ?? given.values ?? [],
    name: isOurs ? undefined : given.name,
    types: given.types,
    ...rowMode,
    queryMode: "extended",
  };
}

function isQueryConfig(value: unknown): value is pg.QueryConfig & { rowMode?: "array" } {
  return (
    typeof value === "object" && value !== null && "text" in value && typeof value.text === "string"
  );
}

export type StatementKind =
  "control" | "savepoint" | "savepoint_end" | "session" | "copy" | "other";

export interface StatementClass {
  readonly kind: StatementKind;
  /** True where an effect may outlast an earlier savepoint; a function may do the same unseen. */
  readonly reachesPastSavepoint: boolean;
  /** True when prepared statements may be gone after it. DISCARD ALL runs in no transaction. */
  readonly mayDeallocate: boolean;
  /** True for a savepoint that may be the ledger's own, between the events of a group. */
  readonly isReserved: boolean;
}

/** A handler sends the same few texts again and again. */
const KNOWN_MAX = 1_000;
const known = new Map<string, StatementClass>();

export function classify(text: string): StatementClass {
  const before = known.get(text);
  if (before !== undefined) return before;
  const [first = ""] = leadingWords(text);
  const kind = statementKind(text);
  const found = {
    kind,
    reachesPastSavepoint: REACHING.has(first) || REACHING_ANYWHERE.test(text),
    mayDeallocate: first === "deallocate" || UNSEEN.has(first),
    isReserved: (kind === "savepoint" || kind === "savepoint_end") && isReservedName(text),
  };
  // Values that stand in the text make it another one each time.
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(text, found);
  return found;
}

const CONTROL = new Set(["begin", "start", "commit", "end", "abort"]);
const SESSION = new Set(["reset", "discard", "deallocate", "listen", "unlisten", "load"]);
/** These run code whose statements nobody sees. */
const UNSEEN = new Set(["do", "call"]);
const REACHING = new Set([...SESSION, ...UNSEEN, "set", "prepare", "declare", "lock"]);
const REACHING_ANYWHERE = /set_config|advisory|\btemp(?:orary)?\b|pg_temp|\bdeferr/i;
/** Words after SET that make it one of the transaction. */
const OF_TRANSACTION = new Set(["local", "transaction", "constraints"]);
const CLIENT = /\bstd(?:in|out)\b/i;

export function statementKind(text: string): StatementKind {
  const [first = "", second = "", third] = leadingWords(text);
  if (CONTROL.has(first)) return "control";
  if (SESSION.has(first)) return "session";
  switch (first) {
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
      return OF_TRANSACTION.has(second) ? "other" : "session";
    case "copy":
      return CLIENT.test(text) ? "copy" : "other";
    default:
      return "other";
  }
}

/** Later names hide equal ones. @see https://www.postgresql.org/docs/current/sql-savepoint.html */
export class Savepoints {
  readonly #stack: { readonly name: string; readonly emitted: number; isEmpty: boolean }[] = [];

  get isAnyOpen(): boolean {
    return this.#stack.some((savepoint) => !savepoint.isEmpty);
  }

  /** Of a ROLLBACK TO, returns the number of events emitted when the savepoint was set. */
  apply(text: string, emitted: number): number | undefined {
    const name = savepointName(text);
    const [first] = leadingWords(text);
    if (first === "savepoint") {
      this.#stack.push({ name, emitted, isEmpty: false });
      return undefined;
    }
    const index = this.#find(name);
    const named = this.#stack[index];
    if (named === undefined) return undefined;
    named.isEmpty = true;
    this.#stack.length = first === "release" ? index : index + 1;
    return first === "release" ? undefined : named.emitted;
  }

  has(text: string): boolean {
    return this.#find(savepointName(text)) !== -1;
  }

  #find(name: string): number {
    return this.#stack.findLastIndex((savepoint) => savepoint.name === name);
  }
}

export const SAVEPOINT_PREFIX = "millrace_";

// U&"..." can write any name with escapes.
function isReservedName(text: string): boolean {
  return savepointName(text).startsWith(SAVEPOINT_PREFIX) || /u&"/i.test(text);
}

function savepointName(text: string): string {
  const name = [...leadingWords(text)].at(-1) ?? "";
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
}

const WORD = /"(?:[^"]|"")*"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;

function* leadingWords(text: string): Generator<string> {
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
