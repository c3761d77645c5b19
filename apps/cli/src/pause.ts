import { type Config, MillraceError } from "@millrace/core";
import { loadConfig } from "@millrace/service";
import type { CliContext } from "./context.ts";
import { readSettings } from "./settings.ts";
import { withOperator } from "./stores.ts";

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

/** Which sources are meant. */
export interface SourceFilter {
  readonly names: readonly string[];
  /** Those of this provider, such as `stripe`. */
  readonly provider?: string | undefined;
  readonly all?: boolean | undefined;
}

/**
 * Picks sources of a config.
 *
 * @throws `unknown_source` for a name, or a provider, that the config does not have; `invalid_request`
 * when nothing is meant.
 */
function chooseSources(config: Config, filter: SourceFilter): readonly string[] {
  const known = Object.keys(config.sources);
  const { names, provider, all } = filter;
  const stranger = names.find((name) => !Object.hasOwn(config.sources, name));
  if (stranger !== undefined) {
    throw new MillraceError(
      "unknown_source",
      `Cannot find "${stranger}": the config has ${known.join(", ")}`,
    );
  }
  if (all === true) return known;
  const ofProvider = known.filter((name) => config.sources[name]?.provider.name === provider);
  if (provider !== undefined && ofProvider.length === 0) {
    const providers = new Set(Object.values(config.sources).map((source) => source.provider.name));
    throw new MillraceError(
      "unknown_source",
      `Cannot find a source of provider "${provider}": the config has ${[...providers].join(", ")}`,
    );
  }
  const chosen = [...new Set([...names, ...ofProvider])];
  if (chosen.length > 0) return chosen;
  throw new MillraceError(
    "invalid_request",
    `Cannot choose sources: name them (${known.join(", ")}), or give --provider or --all`,
  );
}
