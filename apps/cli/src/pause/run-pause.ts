import { MillraceError } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { findStores } from "../find-stores.ts";
import { readSettings } from "../settings.ts";
import { withQueues } from "../with-queues.ts";

/**
 * Pauses or resumes a source, for every worker, and says so.
 *
 * @throws `unknown_source`
 */
export async function runPause(
  context: CliContext,
  verb: "pause" | "resume",
  source: string,
): Promise<void> {
  const settings = readSettings(context);
  const { config } = await loadConfig(settings.configPath);
  if (!Object.hasOwn(config.sources, source)) {
    const known = Object.keys(config.sources).join(", ");
    throw new MillraceError(
      "unknown_source",
      `Cannot ${verb} "${source}": the config has ${known}`,
    );
  }
  const stores = await findStores(settings);
  await withQueues(stores, [source], (queues) => queues[verb](source));
  context.stdout.write(`${verb}d ${source}\n`);
}
