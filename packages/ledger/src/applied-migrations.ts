import { MillraceError } from "@millrace/core";
import type pg from "pg";
import type { Migration } from "./migration-files.ts";
import { SQLSTATE, sqlStateOf } from "./sqlstate.ts";

interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

/** Reads which migrations of a scope a database has; none when it knows nothing of us. */
export async function readApplied(
  connection: Pick<pg.Pool, "query">,
  scope: string,
): Promise<AppliedMigration[]> {
  try {
    const { rows } = await connection.query<AppliedMigration>(
      "SELECT number, name, checksum FROM millrace.migrations WHERE scope = $1 ORDER BY number",
      [scope],
    );
    return rows;
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === SQLSTATE.undefinedTable || state === SQLSTATE.invalidSchemaName) return [];
    throw error;
  }
}

/**
 * Compares the migrations that a database has with the files, and returns those still to apply. Those
 * behind the last file are a later build's, which this one can work beside (decisions/017).
 *
 * @throws `migration_changed`, `migration_unknown`
 */
export function pendingMigrations(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
  scope: string,
): Migration[] {
  const byNumber = new Map(files.map((file) => [file.number, file]));
  const last = files.at(-1)?.number ?? 0;
  for (const { number, name, checksum } of applied) {
    if (number > last) continue;
    const file = byNumber.get(number);
    if (file === undefined) {
      throw new MillraceError(
        "migration_unknown",
        `Cannot use the database: it has migration ${number} "${name}" of "${scope}", which is not in this build`,
      );
    }
    if (file.checksum !== checksum) {
      throw new MillraceError(
        "migration_changed",
        `Cannot use the database: migration ${number} "${file.name}" of "${scope}" was changed after it was applied`,
      );
    }
  }
  const done = new Set(applied.map(({ number }) => number));
  return files.filter((file) => !done.has(file.number));
}
