import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { pendingMigrations, readApplied } from "./applied-migrations.ts";
import { ledgerError } from "./database-trouble.ts";
import { LEDGER_SCOPE } from "./migrate.ts";
import { LEDGER_MIGRATIONS, readMigrations } from "./migration-files.ts";

/**
 * Checks at a role's start that the database's schema is this build's.
 *
 * @throws `migration_needed`, `migration_changed`, `migration_unknown`, `database_unavailable`
 */
export async function checkSchema(
  pool: pg.Pool,
  options: { readonly scope?: string; readonly folder?: string } = {},
): Promise<void> {
  const scope = options.scope ?? LEDGER_SCOPE;
  const files = await readMigrations(options.folder ?? LEDGER_MIGRATIONS);
  const missing = pendingMigrations(files, await applied(pool, scope), scope);
  if (missing.length === 0) return;
  throw new MillraceError(
    "migration_needed",
    `Cannot use the database: ${missing.length} of ${files.length} migrations of "${scope}" are missing. Run \`millrace migrate\``,
  );
}

async function applied(pool: pg.Pool, scope: string): ReturnType<typeof readApplied> {
  try {
    return await readApplied(pool, scope);
  } catch (error) {
    throw ledgerError(error);
  }
}
