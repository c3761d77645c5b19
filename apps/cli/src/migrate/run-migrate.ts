import { loadConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { findStores } from "../find-stores.ts";
import { readSettings } from "../settings.ts";
import { checkAll, migrateAll } from "./migrate-all.ts";

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
