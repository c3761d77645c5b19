import {
  isMillraceError,
  secretVariable,
  withUrl,
  type Config,
  type Handler,
  matchesType,
} from "@millrace/core";
import { LATEST_EVENTS, latestTypes, type createPool } from "@millrace/ledger";
import { loadConfig, loadHandlers, resolveSecrets, type LoadedConfig } from "@millrace/service";
import type { CliContext, Settings } from "../context.ts";
import { readDevelopmentSecrets } from "../data-folder.ts";
import { nearest } from "./nearest.ts";
import { bad, check, note, ok, type Check, checkIfAny } from "./report.ts";

/** Checks that the config can be read, and returns it. */
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

/** Checks that the handlers can be loaded, as a worker does, and returns them. */
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
 * Checks that the sources have secrets: their own, or those that `millrace start` made. Without any
 * secret no ingress runs here, which is right for a worker's machine.
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
    const generated = await readDevelopmentSecrets(dataDir);
    const sources = Object.keys(withUrl(config.sources));
    const without = sources.filter(
      (source) => !Object.hasOwn(own, source) && !Object.hasOwn(generated, source),
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

/** Secrets with which an ingress would not start, each with its reason. */
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

/** A type that a handler names, and that nobody else knows. */
interface StrangeType {
  readonly sources: readonly string[];
  readonly type: string;
  /** The one that it may be meant to be. */
  readonly nearest: string | undefined;
}

/** Finds types of handlers that their sources do not list and have not sent lately. */
export function checkTypes(
  pool: ReturnType<typeof createPool>,
  { config, handlers }: { readonly config: Config; readonly handlers: readonly Handler[] },
): Promise<readonly Check[]> {
  return checkIfAny("event types", async () => {
    const strange = strangeTypes(handlers, config.sources, await latestTypes(pool));
    if (strange.length === 0) return undefined;
    const names = strange.map(({ sources, type, nearest: meant }) => {
      return `${sources.join("|")} ${type}${meant === undefined ? "" : ` (${meant}?)`}`;
    });
    return note(
      `handlers name types that are on no list and in none of the latest ${LATEST_EVENTS.toLocaleString("en")} events: ${names.join(", ")}`,
      "Correct the type in `on`; if it is right, add it to `types` of the source",
    );
  });
}

/**
 * The types of `on` that no source of the handler lists (by provider or options) or has sent.
 * Empty where one of the sources lists nothing and has sent nothing: every type can be right.
 *
 * @internal
 */
export function strangeTypes(
  handlers: readonly Handler[],
  sources: Config["sources"],
  sent: ReadonlyMap<string, readonly string[]>,
): StrangeType[] {
  const known = new Map(
    Object.entries(sources).map(([name, { provider, options }]) => [
      name,
      [...(provider.types ?? []), ...(options.types ?? []), ...(sent.get(name) ?? [])],
    ]),
  );
  return handlers.flatMap(({ sources: named, types }) => {
    const lists = (named.includes("*") ? [...known.keys()] : named).map(
      (name) => known.get(name) ?? [],
    );
    if (lists.some((list) => list.length === 0)) return [];
    const all = lists.flat();
    return types
      .filter((pattern) => !all.some((type) => matchesType(type, pattern)))
      .map((type) => ({ sources: named, type, nearest: nearest(type, all) }));
  });
}
