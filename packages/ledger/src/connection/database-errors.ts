import { isMillraceError, MillraceError, type ErrorCode } from "@millrace/core";
import { causes, isConflict, SQLSTATE, sqlStateOf } from "./sqlstate.ts";

// Connection exceptions, authorization (a password that is being changed), insufficient resources,
// shutdowns (but not 57014, a canceled statement), and errors of the system.
const TROUBLE_CLASSES = ["08", "28", "53", "57P", "58"];
const TROUBLE_STATES: ReadonlySet<string> = new Set([
  SQLSTATE.readOnlyTransaction,
  SQLSTATE.invalidCatalogName,
]);
const DRIVER_MESSAGES =
  /^(Connection terminated|The server does not support SSL connections|Client has encountered a connection error|Client was closed|timeout exceeded when trying to connect|timeout expired|Cannot use a pool after)/;
const UNAVAILABLE_CODES: ReadonlySet<ErrorCode> = new Set([
  "database_unavailable",
  "database_read_only",
] as const);
const SOCKET_CODES = /^(E(CONN|HOST|NET)[A-Z]+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/;
// A certificate that cannot be checked, which another one or a CA's file may repair.
const TLS_CODES = /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET)|^CERT_|^ERR_TLS_CERT/;

/**
 * True when Postgres was at fault, so that an attempt is made again later. Not for a canceled
 * statement (57014), mostly a slow one of a handler, or a bare socket error, maybe its own.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const link of causes(error)) {
    if (isMillraceError(link) && UNAVAILABLE_CODES.has(link.code)) return true;
    if (DRIVER_MESSAGES.test(link.message)) return true;
  }
  if (isConflict(error)) return true;
  const state = sqlStateOf(error) ?? "";
  return TROUBLE_STATES.has(state) || TROUBLE_CLASSES.some((begin) => state.startsWith(begin));
}

export function isConnectionError(error: unknown): boolean {
  if (isDatabaseUnavailable(error)) return true;
  return [...causes(error)].some((link) => {
    // Of a socket's path, any: it is not there, closed to this user, or too long.
    if ("syscall" in link && link.syscall === "connect") return true;
    const code = "code" in link ? String(link.code) : "";
    return SOCKET_CODES.test(code) || TLS_CODES.test(code);
  });
}

/** Our own statement took too long, or its name was gone: another try may succeed. */
const OF_OUR_STATEMENT: ReadonlySet<string> = new Set([
  SQLSTATE.queryCanceled,
  SQLSTATE.idleInTransactionTimeout,
  SQLSTATE.invalidSqlStatementName,
  SQLSTATE.duplicatePreparedStatement,
]);

/** Gives errors of the ledger's own statements their codes. */
export function ledgerError(error: unknown): unknown {
  if (isMillraceError(error)) return error;
  const state = sqlStateOf(error) ?? "";
  if (state === SQLSTATE.illegalTransition) {
    return new MillraceError("illegal_transition", messageOf(error), { cause: error });
  }
  const ours = OF_OUR_STATEMENT.has(state);
  return ours || isConnectionError(error) ? databaseUnavailable(error) : error;
}

/** For the `catch` of a statement. */
export function throwLedgerError(error: unknown): never {
  throw ledgerError(error);
}

export function databaseUnavailable(cause: unknown): MillraceError {
  if (sqlStateOf(cause) === SQLSTATE.readOnlyTransaction) return databaseReadOnly(cause);
  return new MillraceError("database_unavailable", `Cannot use Postgres: ${messageOf(cause)}`, {
    cause,
  });
}

export function databaseReadOnly(cause?: unknown): MillraceError {
  const message = "Cannot write to Postgres: this server is read-only, such as a standby";
  return new MillraceError("database_read_only", message, { cause });
}

export function messageOf(error: unknown): string {
  const links = [...causes(error)];
  const shown = links.find((link) => !link.message.startsWith("Failed query:")) ?? links.at(-1);
  if (shown === undefined) return String(error);
  if (shown.message !== "") return shown.message;
  return "code" in shown ? String(shown.code) : shown.name;
}

/** True when another connection recorded an event that the transaction was to complete. */
export function isRecordedElsewhere(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === SQLSTATE.notSettled || (state === SQLSTATE.uniqueViolation && isOfLedger(error));
}

export function isOfLedger(error: unknown): boolean {
  return error instanceof Error && "schema" in error && error.schema === "millrace";
}
