import { resolve } from "node:path";
import { checkSchema, migrate, USER_SCOPE } from "@millrace/ledger";
import { loadConfig, type LoadedConfig } from "@millrace/service";
import type { Command } from "commander";
import { type CliContext, readSettings } from "../context.ts";
import { findStores, type Pool, type Stores, withPool, withQueues } from "../stores.ts";

const MIGRATE_HELP = `
Applies pending migrations: Millrace's own, then the folder that the config names as "migrations",
then BullMQ's tables if REDIS_URL is not set. Run it once per deployment, before the roles start.
Concurrent runs wait for each other. Uses DATABASE_URL, or the database of the running
\`millrace start\`.

Examples:
  $ DATABASE_URL=postgres://127.0.0.1/app millrace migrate
  $ millrace migrate --check                    exits with 1 if a migration is pending`;

export function addCommands(program: Command, context: CliContext): void {
  program
    .command("migrate")
    .description("apply pending database migrations")
    .option("--check", "only report whether migrations are pending")
    .addHelpText("after", MIGRATE_HELP)
    .action((options: { check?: true }) => runMigrate(context, options));
}

async function runMigrate(context: CliContext, { check }: { check?: true }): Promise<void> {
  const settings = readSettings(context);
  const loaded = await loadConfig(settings.configPath);
  const stores = await findStores(settings);
  const print = (line: string) => context.stdout.write(`${line}\n`);
  if (check !== true) return await migrateAll(loaded, stores, print);
  await eachPart(loaded, stores, async (pool, { name, options }) => {
    await checkSchema(pool, options);
    print(`${name}: up to date`);
  });
}

export interface MigrationPart {
  readonly name: "ledger" | "your tables";
  readonly options: { readonly scope?: string; readonly folder?: string };
}

export async function migrateAll(
  loaded: LoadedConfig,
  stores: Stores,
  say: (line: string) => void,
): Promise<void> {
  await eachPart(loaded, stores, async (pool, { name, options }) => {
    const applied = await migrate({ pool, ...options });
    say(`${name}: ${applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`}`);
  });
  if (stores.REDIS_URL !== undefined) return;
  await withQueues(stores, Object.keys(loaded.config.sources), async () => {});
  say("queue: up to date");
}

async function eachPart(
  loaded: LoadedConfig,
  stores: Stores,
  visit: (pool: Pool, part: MigrationPart) => Promise<void>,
): Promise<void> {
  const url = stores.DATABASE_SESSION_URL ?? stores.DATABASE_URL;
  await withPool({ url, max: 2, applicationName: "millrace-migrate" }, async (pool) => {
    for (const part of partsOf(loaded)) await visit(pool, part);
  });
}

export function partsOf({ config, directory }: LoadedConfig): MigrationPart[] {
  const ours: MigrationPart = { name: "ledger", options: {} };
  if (config.migrations === undefined) return [ours];
  const folder = resolve(directory, config.migrations);
  return [ours, { name: "your tables", options: { scope: USER_SCOPE, folder } }];
}
