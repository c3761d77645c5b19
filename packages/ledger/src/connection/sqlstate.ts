/** @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const SQLSTATE = {
  readOnlyTransaction: "25006",
  objectNotInPrerequisiteState: "55000",
  transactionAborted: "25P02",
  featureNotSupported: "0A000",
  invalidSqlStatementName: "26000",
  duplicatePreparedStatement: "42P05",
  idleInTransactionTimeout: "25P03",
  invalidCatalogName: "3D000",
  insufficientPrivilege: "42501",
  uniqueViolation: "23505",
  checkViolation: "23514",
  serializationFailure: "40001",
  deadlockDetected: "40P01",
  lockNotAvailable: "55P03",
  queryCanceled: "57014",
  undefinedTable: "42P01",
  invalidSchemaName: "3F000",
  /** Our own: the ledger's triggers refused a change of status. */
  illegalTransition: "MR001",
  /** Our own: an event was not completed because its row is not as the attempt left it. */
  notSettled: "MR002",
  /** Our own: a handler returned in another transaction than the one that was begun for it. */
  transactionChanged: "MR003",
} as const;

export function sqlStateOf(error: unknown): string | undefined {
  for (const link of causes(error)) {
    const code = "code" in link ? link.code : undefined;
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in link) return code;
  }
  return undefined;
}

export function isDataError(error: unknown): boolean {
  const state = sqlStateOf(error) ?? "";
  return ["21", "22", "23", "54"].includes(state.slice(0, 2));
}

const CONFLICTS: ReadonlySet<string> = new Set([
  SQLSTATE.deadlockDetected,
  SQLSTATE.lockNotAvailable,
  SQLSTATE.serializationFailure,
]);

/** True when another transaction was in the way: the next attempt may succeed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlStateOf(error) ?? "");
}

export function* causes(error: unknown): Generator<Error> {
  let link = error;
  for (let depth = 0; depth < 10 && link instanceof Error; depth += 1) {
    yield link;
    link = link.cause;
  }
}
