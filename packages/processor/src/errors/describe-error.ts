import { cutWithoutSecrets, isMillraceError, isPermanentError, isRetryLater } from "@millrace/core";

const BYTES_MAX = 8_192;
const CAUSES_MAX = 3;

/**
 * Describes anything that was thrown: `Name: message`, its causes, and the SQLSTATE. Without stack,
 * query, parameter, or secret (of `known`, or like one). One line of at most 8 kB. Never throws.
 */
export function describeError(error: unknown, known: readonly string[] = []): string {
  try {
    return tidy(describe(error, CAUSES_MAX), known);
  } catch {
    return "Something was thrown that cannot be read";
  }
}

function describe(error: unknown, causesLeft: number): string {
  if (typeof error === "string") return withoutQuery(error) || "An empty string was thrown";
  if (!isObject(error)) return `${String(error)} was thrown`;
  const message = read(error, "message");
  const cause = read(error, "cause");
  const text = typeof message === "string" ? withoutQuery(message) : "";
  // drizzle's "Failed query" holds the query and its parameters; what went wrong is its cause.
  if (text === FAILED_QUERY && cause !== undefined && causesLeft > 0)
    return describe(cause, causesLeft - 1);
  const errors = read(error, "errors");
  const first: unknown = text === "" && Array.isArray(errors) ? errors[0] : undefined;
  if (first !== undefined && causesLeft > 0)
    return `${nameOf(error)}: ${describe(first, causesLeft - 1)}`;
  const own = `${nameOf(error)}: ${text || withoutMessage(error)}${sqlState(error)}`;
  if (cause === undefined || cause === null || causesLeft === 0) return own;
  return `${own} (cause: ${describe(cause, causesLeft - 1)})`;
}

const KEYS_MAX = 10;

/** Names what was thrown instead of an error: its status and its keys, and no other value. */
function withoutMessage(error: object): string {
  const status = read(error, "status");
  const keys = keysOf(error).slice(0, KEYS_MAX);
  const known = [
    ...(typeof status === "number" ? [`status ${status}`] : []),
    ...(keys.length > 0 && !(error instanceof Error) ? [`keys ${keys.join(", ")}`] : []),
  ];
  return `(no message${known.map((part) => `; ${part}`).join("")})`;
}

function keysOf(error: object): readonly string[] {
  try {
    return Object.keys(error);
  } catch {
    return [];
  }
}

const FAILED_QUERY = "Failed query";

/** Leaves out the query and its parameters, which drizzle puts into the messages of its errors. */
export function withoutQuery(message: string): string {
  const from = message.indexOf(`${FAILED_QUERY}:`);
  return from === -1 ? message : message.slice(0, from + FAILED_QUERY.length);
}

function nameOf(error: object): string {
  const name = read(error, "name");
  if (typeof name === "string" && name !== "" && name.toLowerCase() !== "error") return name;
  const constructor = read(error, "constructor");
  const className = typeof constructor === "function" ? constructor.name : "";
  return className === "" ? "Error" : className;
}

function sqlState(error: object): string {
  const code = read(error, "code");
  const isPostgres = typeof read(error, "severity") === "string";
  return isPostgres && typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)
    ? ` (SQLSTATE ${code})`
    : "";
}

// A getter may throw, and so may a Proxy.
function read(object: object, key: string): unknown {
  try {
    return Reflect.get(object, key);
  } catch {
    return undefined;
  }
}

function tidy(text: string, known: readonly string[]): string {
  const line = cutWithoutSecrets(text, BYTES_MAX, known)
    .replace(/\s+/gu, " ")
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  // Through bytes, so that half a surrogate pair does not reach Postgres; a cut letter is dropped.
  const bytes = Buffer.from(line).subarray(0, BYTES_MAX);
  return new TextDecoder().decode(bytes, { stream: true }).trim();
}

/** As many as the ledger looks through for a SQLSTATE. */
const LINKS_READ = 10;
const READ_LATER = ["name", "message", "code", "cause", "errors", "severity", "afterMs"];

/** Returns the error, or one of our own if reading it throws (a getter, a Proxy). */
export function readableError(thrown: unknown): unknown {
  if (!isObject(thrown)) return thrown;
  try {
    isMillraceError(thrown);
    isPermanentError(thrown);
    isRetryLater(thrown);
    let link: unknown = thrown;
    for (let depth = 0; depth < LINKS_READ && isObject(link); depth += 1) {
      for (const key of READ_LATER) Reflect.get(link, key);
      link = Reflect.get(link, "cause");
    }
    return thrown;
  } catch {
    return new Error(`Cannot read what was thrown: ${describeError(thrown)}`);
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" || typeof value === "function") && value !== null;
}
