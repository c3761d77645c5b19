import type pg from "pg";
import { ledgerError } from "../connection/database-errors.ts";
import { LEDGER_MIGRATIONS, readMigrations } from "./migration-files.ts";

/** What holds rows or shows them, without partitions and without the sequences of columns. */
const RELATIONS = `
SELECT c.relname AS name
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'millrace' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  -- A day of bodies that was detached and is about to be dropped.
  AND c.relname !~ '^bodies_[0-9]{8}$'
ORDER BY c.relname`;

/** What `migrate` makes by itself, before any migration. */
const BOOKKEEPING = "migrations";

/**
 * Names the tables and views in the schema `millrace` that no migration of ours made. A login that is named `millrace`
 * makes them there if a statement names no schema, because `search_path` begins with the schema of the user's name.
 *
 * @throws `database_unavailable`
 */
export async function misplacedTables(connection: Pick<pg.Pool, "query">): Promise<string[]> {
  const migrations = await readMigrations(LEDGER_MIGRATIONS);
  const text = migrations.map((migration) => migration.text).join("\n");
  const ours = new Set(text.match(/(?<=\bmillrace\.)\w+/g));
  ours.add(BOOKKEEPING);
  try {
    const { rows } = await connection.query<{ name: string }>(RELATIONS);
    return rows.map(({ name }) => name).filter((name) => !ours.has(name));
  } catch (error) {
    throw ledgerError(error);
  }
}
