import { horizonFindings } from "@millrace/connect";
import {
  errorText,
  hasTenants,
  isMillraceError,
  secretVariable,
  withUrl,
  type Config,
  type Handler,
} from "@millrace/core";
import { loadConfig, loadHandlers, resolveSecrets, type LoadedConfig } from "@millrace/service";
import type { CliContext, Settings } from "../context.ts";
import { readDevelopmentSecrets, type Run } from "../data-folder.ts";
import { readStates } from "../start/current-run.ts";
import { isFree } from "../start/free-port.ts";
import { bad, judged, note, ok, type Check, type Seen } from "./report.ts";

export interface Project {
  readonly context: Pick<CliContext, "env">;
  readonly settings: Settings;
  readonly run: Run | undefined;
  /** True when `run` is another system than the one that is examined. */
  readonly isApart: boolean;
  loaded?: LoadedConfig;
  handlers?: readonly Handler[];
}

export const PROJECT_CHECKS: readonly Check<Project>[] = [
  { name: "config", run: checkConfig },
  { name: "handlers", run: checkHandlers },
  { name: "secrets", run: checkSecrets },
  {
    name: "roles",
    run: checkRoles,
    advice: "Their lines in the output of `millrace start` say why",
  },
  { name: "ports", run: checkPorts },
];

async function checkConfig(on: Project): Promise<Seen> {
  try {
    on.loaded = await loadConfig(on.settings.configPath);
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    const isMissing = error.code === "config_not_found";
    return bad(error.message, isMissing ? "`millrace init` writes one to start from" : undefined);
  }
  const detail = `${Object.keys(on.loaded.config.sources).join(", ")}; from ${on.loaded.path}`;
  return judged(detail, horizonFindings(on.loaded.config), note);
}

async function checkHandlers(on: Project): Promise<Seen | undefined> {
  if (on.loaded === undefined) return undefined;
  try {
    on.handlers = await loadHandlers(on.loaded.config);
  } catch (error) {
    return bad(errorText(error));
  }
  const names = on.handlers.flatMap(({ sources, types }) =>
    sources.flatMap((source) => types.map((type) => `${source} ${type}`)),
  );
  return ok(`${on.handlers.length}, for ${new Set(names).size} types`);
}

/** Without any secret no ingress runs here, which is right for a worker's machine. */
async function checkSecrets({ loaded, context, settings, isApart }: Project) {
  if (loaded === undefined) return undefined;
  const { config } = loaded;
  let own: Record<string, readonly string[]>;
  try {
    own = resolveSecrets(config, context.env);
  } catch (error) {
    return bad(errorText(error));
  }
  const refused = refusedSecrets(config, own);
  if (refused.length > 0) return bad(refused.join("; "));
  const generated = isApart ? {} : await readDevelopmentSecrets(settings.dataDir);
  const sources = Object.keys(withUrl(config.sources));
  const notOwn = sources.filter((source) => !Object.hasOwn(own, source));
  const without = notOwn.filter((source) => !Object.hasOwn(generated, source));
  if (without.length === 0) {
    const ofTenants = Object.values(config.sources).filter(hasTenants).length;
    const set = sources.length - notOwn.length - ofTenants;
    const read = ofTenants === 0 ? "" : `, ${ofTenants} read for each tenant`;
    return ok(`${set} set, ${notOwn.length} made by \`millrace start\`${read}`);
  }
  if (without.length === sources.length) {
    return note("none is set here: an ingress would not start");
  }
  const variables = without.map(secretVariable).join(", ");
  return bad(`none for ${without.join(", ")}`, `Set ${variables} where the ingress runs`);
}

function refusedSecrets(config: Config, own: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(own).flatMap(([source, secrets]) => {
    try {
      // Those of tenants are read by the ingress.
      if (secrets.length > 0) config.sources[source]?.provider.createVerifier(secrets);
      return [];
    } catch (error) {
      return [`${source}: ${errorText(error)}`];
    }
  });
}

async function checkRoles({ run, isApart }: Project): Promise<Seen | undefined> {
  if (run === undefined || isApart) return undefined;
  const states = await readStates(run);
  const detail = states.map(({ name, state }) => `${name} ${state}`).join(", ");
  return states.every(({ state }) => state === "ready") ? ok(detail) : bad(detail);
}

async function checkPorts({ run, settings }: Project): Promise<Seen | undefined> {
  if (run !== undefined) return undefined;
  const { INGRESS_PORT, DASHBOARD_PORT, WORKER_PORT, HOST = "127.0.0.1" } = settings.environment;
  const ports = [INGRESS_PORT, DASHBOARD_PORT, WORKER_PORT];
  const free = await Promise.all(ports.map((port) => isFree(port, HOST)));
  const taken = ports.filter((_, index) => free[index] === false);
  if (taken.length === 0) return ok(`${ports.join(", ")} are free`);
  return note(
    `${taken.join(", ")} taken: \`millrace start\` takes the next free one, a role alone fails`,
  );
}
