import { MillraceError } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { withOperator } from "../run-again/with-operator.ts";
import { readSettings } from "../settings.ts";

/**
 * Pauses or resumes a source, for every worker, and says so.
 *
 * @throws `unknown_source`, `database_unavailable` when it cannot be audited.
 */
export async function runPause(
  context: CliContext,
  verb: "pause" | "resume",
  { source, reason }: { source: string; reason: string | undefined },
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
  await withOperator(context, reason, (operator) => operator[verb](source));
  context.stdout.write(`${verb}d ${source}\n`);
}
