import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { throwLedgerError } from "../connection/database-errors.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** SHA-256 of the text with line feeds as line ends, as on Windows too. */
  readonly checksum: string;
}

export const LEDGER_SCOPE = "millrace";
/** The migrations of the user's own tables have their own numbers. */
export const USER_SCOPE = "user";

/** The folder of the ledger's own migrations; the same from `src` and from `dist`. */
export const LEDGER_MIGRATIONS = fileURLToPath(new URL("../../migrations/", import.meta.url));

const FILE_NAME = /^(\d{4,})_(.+)\.sql$/;

/** @throws `invalid_config` without the folder, or when a `.sql` file has no number of its own */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const files = (await listFolder(folder)).filter((file) => file.endsWith(".sql"));
  const migrations = await Promise.all(files.map((file) => readMigration(folder, file)));
  const sorted = migrations.toSorted((a, b) => a.number - b.number);
  sorted.forEach((migration, index) => {
    if (sorted[index + 1]?.number !== migration.number) return;
    throw new MillraceError(
      "invalid_config",
      `Cannot read migrations of "${folder}": two have the number ${migration.number}`,
    );
  });
  return sorted;
}

async function listFolder(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new MillraceError("invalid_config", `Cannot read migrations: no folder "${folder}"`, {
      cause,
    });
  }
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const [, number, name] = FILE_NAME.exec(file) ?? [];
  if (number === undefined || name === undefined) {
    throw new MillraceError(
      "invalid_config",
      `Cannot read migration "${file}": its name is not like 0001_name.sql`,
    );
  }
  const path = join(folder, file);
  const text = (await readFile(path, "utf8")).replaceAll("\r\n", "\n");
  const checksum = createHash("sha256").update(text).digest("hex");
  return { number: Number(number), name, path, text, checksum };
}

/** @throws `migration_needed`, `migration_changed`, `migration_unknown` */
export async function checkSchema(
  pool: pg.Pool,
  options: { readonly scope?: string; readonly folder?: string } = {},
): Promise<void> {
  const scope = options.scope ?? LEDGER_SCOPE;
  const files = await readMigrations(options.folder ?? LEDGER_MIGRATIONS);
  const applied = await readApplied(pool, scope).catch(throwLedgerError);
  const missing = pendingMigrations(files, applied, scope);
  if (missing.length === 0) return;
  throw new MillraceError(
    "migration_needed",
    `Cannot use the database: ${missing.length} of ${files.length} migrations of "${scope}" are missing. Run \`millrace migrate\``,
  );
}

type AppliedMigration = Pick<Migration, "number" | "name" | "checksum">;

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
 * Migrations after the last file belong to a later version, which can run too (decisions/017).
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
        `Cannot use the database: it has migration ${number} "${name}" of "${scope}", which this version does not have`,
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

const RELATIONS = `
SELECT c.relname AS name
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'millrace' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  -- A day of bodies that was detached and is about to be dropped.
  AND c.relname !~ '^bodies_[0-9]{8}$'
ORDER BY c.relname`;

/** A login named `millrace` makes them there: `search_path` begins with its name. */
export async function misplacedTables(connection: Pick<pg.Pool, "query">): Promise<string[]> {
  const migrations = await readMigrations(LEDGER_MIGRATIONS);
  const text = migrations.map((migration) => migration.text).join("\n");
  const ours = new Set(text.match(/(?<=\bmillrace\.)\w+/g));
  ours.add("migrations");
  const { rows } = await connection.query<{ name: string }>(RELATIONS).catch(throwLedgerError);
  return rows.map(({ name }) => name).filter((name) => !ours.has(name));
}
