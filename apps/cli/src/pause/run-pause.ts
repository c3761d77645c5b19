import { loadConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { withOperator } from "../with-operator.ts";
import { readSettings } from "../settings.ts";
import { chooseSources, type SourceFilter } from "./choose-sources.ts";

export interface PauseOptions extends SourceFilter {
  readonly reason?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/**
 * Pauses or resumes sources, for every worker, and says so.
 *
 * @throws `unknown_source`, `invalid_request`; `database_unavailable` when it cannot be audited.
 */
export async function runPause(
  context: CliContext,
  verb: "pause" | "resume",
  { reason, dryRun, ...filter }: PauseOptions,
): Promise<void> {
  const { config } = await loadConfig(readSettings(context).configPath);
  const sources = chooseSources(config, filter);
  if (dryRun === true) {
    for (const source of sources) context.stdout.write(`would ${verb} ${source}\n`);
    return;
  }
  await withOperator(context, reason, async (operator) => {
    for (const source of sources) {
      await operator[verb](source);
      context.stdout.write(`${verb}d ${source}\n`);
    }
  });
}
