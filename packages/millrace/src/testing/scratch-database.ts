import { randomBytes } from "node:crypto";
import { MillraceError, readUrl } from "@millrace/core";
import { createPool, messageOf } from "@millrace/ledger";

/** A fresh, empty database, and the end of it. */
export interface ScratchDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/**
 * Makes a database of its own on a server. Its name begins with `millrace_test_`.
 *
 * @throws `database_unreachable` when the server does not answer, or does not let this user.
 */
export async function createScratchDatabase(serverUrl: string): Promise<ScratchDatabase> {
  const name = `millrace_test_${randomBytes(6).toString("hex")}`;
  try {
    await onServer(serverUrl, `CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
  } catch (error) {
    throw new MillraceError(
      "database_unreachable",
      `Cannot make a scratch database on ${hostOf(serverUrl)}: ${messageOf(error)}. ` +
        "Set TEST_DATABASE_URL to a Postgres whose user may create databases",
      { cause: error },
    );
  }
  const url = readUrl(serverUrl) ?? new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function onServer(url: string, statement: string): Promise<void> {
  const pool = createPool({ url, max: 1, applicationName: "millrace-testing" });
  try {
    await pool.query(statement);
  } finally {
    await pool.end();
  }
}

function hostOf(url: string): string {
  return readUrl(url)?.host ?? "the database's server";
}
