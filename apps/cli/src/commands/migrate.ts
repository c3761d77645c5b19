import { resolve } from "node:path";
import { checkSchema, migrate, USER_SCOPE } from "@millrace/ledger";
import type { LoadedConfig } from "@millrace/service";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { findProject, type Pool, type Stores, withPool, withQueues } from "../stores.ts";
import { createPrinter } from "../terminal-text.ts";

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
    .option("--json", "print a line of JSON for each part")
    .addHelpText("after", MIGRATE_HELP)
    .action((options: MigrateOptions) => runMigrate(context, options));
}

interface MigrateOptions {
  readonly check?: true;
  readonly json?: true;
}

async function runMigrate(context: CliContext, { check, json }: MigrateOptions): Promise<void> {
  const project = await findProject(context);
  const print = createPrinter(context, json);
  const say: Say = (part, applied) =>
    print({ json: { part, applied }, text: migratedText(part, applied) });
  if (check !== true) return await migrateAll(project, say);
  await eachPart(project, async (pool, { name, options }) => {
    await checkSchema(pool, options);
    say(name, []);
  });
}

type Say = (part: string, applied: readonly string[]) => void;

export const migratedText: (...said: Parameters<Say>) => string = (part, applied) =>
  `${part}: ${applied.length === 0 ? "up to date" : `applied ${applied.join(", ")}`}`;

export interface MigrationPart {
  readonly name: "ledger" | "your tables";
  readonly options: { readonly scope?: string; readonly folder?: string };
}

type Migrated = LoadedConfig & { readonly stores: Stores };

export async function migrateAll(project: Migrated, say: Say): Promise<void> {
  await eachPart(project, async (pool, { name, options }) => {
    say(name, await migrate({ pool, ...options }));
  });
  if (project.stores.REDIS_URL !== undefined) return;
  await withQueues(project, async () => {});
  say("queue", []);
}

async function eachPart(
  project: Migrated,
  visit: (pool: Pool, part: MigrationPart) => Promise<void>,
): Promise<void> {
  const { DATABASE_URL, DATABASE_SESSION_URL } = project.stores;
  const url = DATABASE_SESSION_URL ?? DATABASE_URL;
  await withPool({ url, max: 2, applicationName: "millrace-migrate" }, async (pool) => {
    for (const part of partsOf(project)) await visit(pool, part);
  });
}

export function partsOf({ config, directory }: LoadedConfig): MigrationPart[] {
  const ours: MigrationPart = { name: "ledger", options: {} };
  if (config.migrations === undefined) return [ours];
  const folder = resolve(directory, config.migrations);
  return [ours, { name: "your tables", options: { scope: USER_SCOPE, folder } }];
}
