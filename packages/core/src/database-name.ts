export interface DatabaseName {
  /** The cluster's system identifier; empty where this login or server does not show it. */
  readonly systemId: string;
  readonly oid: string;
}

export function isSameDatabase(one: DatabaseName, other: DatabaseName): boolean {
  const isSameServer =
    [one.systemId, other.systemId].includes("") || one.systemId === other.systemId;
  return isSameServer && one.oid === other.oid;
}

export interface LedgerName extends DatabaseName {
  /** A UUID that a copy of the database shares until `millrace adopt`. */
  readonly ledger: string;
  /** When Postgres started, a whole number: two copies of one folder have two times. */
  readonly startedAtMs: number;
}
