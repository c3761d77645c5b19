import {
  isMillraceError,
  secretVariable,
  withUrl,
  type Config,
  type Handler,
} from "@millrace/core";
import { loadConfig, loadHandlers, resolveSecrets, type LoadedConfig } from "@millrace/service";
import type { CliContext } from "../context.ts";
import { readDevelopmentSecrets } from "../development-secrets.ts";
import type { Settings } from "../settings.ts";
import { bad, check, note, ok, type Check } from "./report.ts";

/** Whether the config can be read; gives it where it can. */
export async function checkConfig({
  configPath,
}: Settings): Promise<{ check: Check; loaded: LoadedConfig | undefined }> {
  let loaded: LoadedConfig | undefined;
  const seen = await check("config", async () => {
    try {
      loaded = await loadConfig(configPath);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      const none = error.code === "config_not_found";
      return bad(error.message, none ? "`millrace init` writes one to start from" : undefined);
    }
    return ok(`${Object.keys(loaded.config.sources).join(", ")}; from ${loaded.path}`);
  });
  return { check: seen, loaded };
}

/** Whether the handlers can be loaded, as a worker does; gives them where they can. */
export async function checkHandlers(
  config: Config,
): Promise<{ check: Check; handlers: readonly Handler[] }> {
  let handlers: readonly Handler[] = [];
  const seen = await check("handlers", async () => {
    try {
      handlers = await loadHandlers(config);
      const names = handlers.flatMap(({ sources, types }) =>
        sources.flatMap((source) => types.map((type) => `${source} ${type}`)),
      );
      const types = new Set(names);
      return ok(`${handlers.length}, for ${types.size} types`);
    } catch (error) {
      return bad(error instanceof Error ? error.message : String(error));
    }
  });
  return { check: seen, handlers };
}

/**
 * Whether the sources have secrets: their own, or those that `millrace start` made. Where none has
 * one, no ingress runs, which is as it should be for a worker's machine.
 */
export function checkSecrets(
  config: Config,
  { env }: Pick<CliContext, "env">,
  { dataDir }: Settings,
): Promise<Check> {
  return check("secrets", async () => {
    let own: Record<string, readonly string[]>;
    try {
      own = resolveSecrets(config, env);
    } catch (error) {
      return bad(error instanceof Error ? error.message : String(error));
    }
    const refused = refusedSecrets(config, own);
    if (refused.length > 0) return bad(refused.join("; "));
    const made = await readDevelopmentSecrets(dataDir);
    const sources = Object.keys(withUrl(config.sources));
    const without = sources.filter(
      (source) => !Object.hasOwn(own, source) && !Object.hasOwn(made, source),
    );
    if (without.length === 0) {
      const ofStart = sources.filter((source) => !Object.hasOwn(own, source)).length;
      return ok(`${sources.length - ofStart} set, ${ofStart} made by \`millrace start\``);
    }
    if (without.length === sources.length) {
      return note("none is set here: an ingress would not start");
    }
    const variables = without.map(secretVariable).join(", ");
    return bad(`none for ${without.join(", ")}`, `Set ${variables} where the ingress runs`);
  });
}

/** Why an ingress would not start with a source's secrets, by source. */
function refusedSecrets(
  config: Config,
  own: Readonly<Record<string, readonly string[]>>,
): string[] {
  return Object.entries(own).flatMap(([source, secrets]) => {
    try {
      config.sources[source]?.provider.createVerifier(secrets);
      return [];
    } catch (error) {
      return [`${source}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}
