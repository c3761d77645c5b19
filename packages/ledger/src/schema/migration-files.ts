import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MillraceError } from "@millrace/core";

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
