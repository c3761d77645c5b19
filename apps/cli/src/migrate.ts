import { checkSchema, createPool, migrate, USER_SCOPE } from "@millrace/ledger";
import { loadConfig, type LoadedConfig } from "@millrace/service";
import type { CliContext } from "./context.ts";
import { findStores, type Stores, withQueues } from "./stores.ts";
import { readSettings } from "./settings.ts";
import { resolve } from "node:path";

/** Brings the database up to date, or only looks whether it is. */
export async function runMigrate(
  context: CliContext,
  { check }: { check: boolean },
): Promise<void> {
  const settings = readSettings(context);
  const loaded = await loadConfig(settings.configPath);
  const stores = await findStores(settings);
  const act = check ? checkAll : migrateAll;
  await act(loaded, stores, (line) => context.stdout.write(`${line}\n`));
}

/** Tables that are migrated together. */
export interface MigrationPart {
  readonly name: "ledger" | "your tables";
  readonly options: { readonly scope?: string; readonly folder?: string };
}

/**
 * Brings the database up to date: our tables, then the user's, then the queue's where it is on
 * Postgres. Says what it did, a line each.
 *
 * @throws `migration_changed`, `migration_unknown`, `database_unavailable`.
 */
export async function migrateAll(
  loaded: LoadedConfig,
  stores: Stores,
  say: (line: string) => void,
): Promise<void> {
  await eachPart(loaded, stores, async (pool, { name, options }) => {
    const applied = await migrate({ pool, ...options });
    say(`${name}: ${appliedText(applied)}`);
  });
  if (stores.redisUrl !== undefined) return;
  // Opening the queues makes their tables where they are not.
  await withQueues(stores, Object.keys(loaded.config.sources), async () => {});
  say("queue: up to date");
}

function appliedText(applied: readonly string[]): string {
  return applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`;
}

/**
 * Looks whether the database is up to date, and changes nothing.
 *
 * @throws `migration_needed`, `migration_changed`, `migration_unknown`, `database_unavailable`.
 */
async function checkAll(
  loaded: LoadedConfig,
  stores: Stores,
  say: (line: string) => void,
): Promise<void> {
  await eachPart(loaded, stores, async (pool, { name, options }) => {
    await checkSchema(pool, options);
    say(`${name}: up to date`);
  });
}

async function eachPart(
  loaded: LoadedConfig,
  stores: Stores,
  visit: (pool: ReturnType<typeof createPool>, part: MigrationPart) => Promise<void>,
): Promise<void> {
  const url = stores.sessionUrl ?? stores.databaseUrl;
  const pool = createPool({ url, max: 2, applicationName: "millrace-migrate" });
  try {
    for (const part of partsOf(loaded)) await visit(pool, part);
  } finally {
    await pool.end();
  }
}

/** What a config has to be migrated: our tables, and the user's where it names their migrations. */
export function partsOf({ config, directory }: LoadedConfig): MigrationPart[] {
  const ours: MigrationPart = { name: "ledger", options: {} };
  if (config.migrations === undefined) return [ours];
  const folder = resolve(directory, config.migrations);
  return [ours, { name: "your tables", options: { scope: USER_SCOPE, folder } }];
}
