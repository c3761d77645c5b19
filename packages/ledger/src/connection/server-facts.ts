import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { throwLedgerError } from "./database-errors.ts";

export interface ServerFacts {
  readonly version: string;
  /** 150004 is 15.4. */
  readonly versionNumber: number;
  readonly login: string;
  readonly database: string;
  readonly maxConnections: number;
  /** Of them, those that are kept for superusers and the like. */
  readonly reservedConnections: number;
  /** Connections that the login may have; -1 is no limit. */
  readonly loginLimit: number;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly isolation: string;
  /** Milliseconds after which Postgres ends any transaction; 0 is never. */
  readonly transactionTimeoutMs: number;
  readonly synchronousCommit: string;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  readonly synchronousStandbyNames: string;
  readonly standbys: number;
}

const READ = `
SELECT current_setting('server_version') AS "version",
  current_setting('server_version_num')::int AS "versionNumber",
  session_user AS "login",
  current_database() AS "database",
  current_setting('max_connections')::int AS "maxConnections",
  current_setting('superuser_reserved_connections')::int
    + coalesce(current_setting('reserved_connections', true), '0')::int AS "reservedConnections",
  (SELECT rolconnlimit FROM pg_catalog.pg_roles WHERE rolname = session_user) AS "loginLimit",
  pg_is_in_recovery() AS "isStandby",
  current_setting('default_transaction_read_only') = 'on' AS "isReadOnly",
  current_setting('default_transaction_isolation') AS "isolation",
  coalesce((SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'transaction_timeout'), 0)
    AS "transactionTimeoutMs",
  current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('fsync') = 'on' AS "fsync",
  current_setting('full_page_writes') = 'on' AS "fullPageWrites",
  current_setting('synchronous_standby_names') AS "synchronousStandbyNames",
  (SELECT count(*)::int FROM pg_catalog.pg_stat_replication) AS "standbys"`;

export async function readServerFacts(connection: Pick<pg.Pool, "query">): Promise<ServerFacts> {
  const { rows } = await connection.query<ServerFacts>(READ).catch(throwLedgerError);
  const [facts] = rows;
  if (facts === undefined) throw new Error("Cannot read the settings of Postgres: no answer");
  return facts;
}

const VERSION_MIN = 14;

export function requireSupported({ version, versionNumber }: ServerFacts): void {
  if (versionNumber >= VERSION_MIN * 10_000) return;
  throw new MillraceError(
    "postgres_too_old",
    `Cannot use this Postgres: its version is ${version}. Use Postgres ${VERSION_MIN} or later`,
  );
}
