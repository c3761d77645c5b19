import {
  isInternal,
  MillraceError,
  nearest,
  providerOfTenant,
  secretVariable,
  type Config,
  type Source,
} from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { type CliContext, loadProject, type Project } from "./context.ts";
import { readDevelopmentSecrets } from "./data-folder.ts";
import { printable } from "./terminal-text.ts";

/**
 * A source that has a URL, of a tenant with the tenant's, and the live secrets of all sources.
 * @throws `unknown_source` for one without a URL, or not in the config; `missing_secret`
 */
export async function findReceiver(
  context: CliContext,
  { source: name, tenant }: { readonly source: string; readonly tenant?: string },
  action: string,
) {
  const project = await loadProject(context);
  const source = requireSource(project.config, name, action);
  const provider = providerOfTenant(source.provider, tenant);
  if (isInternal(source)) {
    const why = "it is an internal source, whose events handlers emit";
    throw new MillraceError("unknown_source", `Cannot ${action} "${name}": ${why}`);
  }
  const secrets = await findSecrets(project, name, context.env, tenant);
  return { ...project, source: { ...source, provider }, secrets };
}

/** @throws `unknown_source` for a name that the config does not have, with the one that is meant */
export function requireSource({ sources }: Config, name: string, action: string): Source {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
  if (source !== undefined) return source;
  const names = Object.keys(sources);
  const meant = nearest(name, names);
  const hint = meant === undefined ? `It has ${names.join(", ")}` : `Did you mean "${meant}"?`;
  throw new MillraceError(
    "unknown_source",
    `Cannot ${action} "${printable(name)}": the config has no such source. ${hint}`,
  );
}

/** Those that are set, else of `millrace start`; a tenant's are read. */
async function findSecrets(
  { config, dataDir }: Project,
  wanted: string,
  env: CliContext["env"],
  tenant: string | undefined,
): Promise<LiveSecrets> {
  const read = config.sources[wanted]?.options.secrets;
  if ((read === undefined) !== (tenant === undefined)) {
    const why = read === undefined ? "it has no tenants" : "name one of its tenants by --tenant";
    throw new MillraceError("unknown_source", `Cannot find the secret of "${wanted}": ${why}`);
  }
  const made = Object.entries(await readDevelopmentSecrets(dataDir));
  const secrets = {
    ...Object.fromEntries(made.map(([source, secret]) => [source, [secret]])),
    ...resolveSecrets(config, env),
    ...(tenant !== undefined && { [wanted]: [(await read?.(tenant)) ?? []].flat() }),
  };
  if (Object.hasOwn(secrets, wanted) && secrets[wanted]?.length !== 0) return secrets;
  const why =
    tenant === undefined
      ? `${secretVariable(wanted)} is not set, and no \`millrace start\` has made a secret in ${dataDir}`
      : `its \`secrets\` returns none for "${tenant}"`;
  throw new MillraceError("missing_secret", `Cannot find the secret of "${wanted}": ${why}`);
}

export type LiveSecrets = Readonly<Record<string, readonly string[]>>;
