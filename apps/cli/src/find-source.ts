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
import { readDevelopmentSecrets } from "./data-folder.ts";
import { printable } from "./terminal-text.ts";

/** For a tenant, with its URL. @throws `unknown_source` for one without, or not in the config. */
export function findSource(config: Config, name: string, action: string, tenant?: string): Source {
  const source = requireSource(config, name, action);
  const provider = providerOfTenant(source.provider, tenant);
  if (!isInternal(source)) return { ...source, provider };
  throw new MillraceError(
    "unknown_source",
    `Cannot ${action} "${name}": it is an internal source, whose events handlers emit`,
  );
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

/** Those that are set, else of `millrace start`; a tenant's are read. @throws `missing_secret` */
export async function findSecrets(
  config: Config,
  wanted: string,
  from: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
  tenant: string | undefined,
): Promise<LiveSecrets> {
  const read = config.sources[wanted]?.options.secrets;
  if ((read === undefined) !== (tenant === undefined)) {
    const why = read === undefined ? "it has no tenants" : "name one of its tenants by --tenant";
    throw new MillraceError("unknown_source", `Cannot find the secret of "${wanted}": ${why}`);
  }
  const made = Object.entries(await readDevelopmentSecrets(from.dataDir));
  const secrets = {
    ...Object.fromEntries(made.map(([source, secret]) => [source, [secret]])),
    ...resolveSecrets(config, from.env),
    ...(tenant !== undefined && { [wanted]: [(await read?.(tenant)) ?? []].flat() }),
  };
  if (Object.hasOwn(secrets, wanted) && secrets[wanted]?.length !== 0) return secrets;
  const why =
    tenant === undefined
      ? `${secretVariable(wanted)} is not set, and no \`millrace start\` has made a secret in ${from.dataDir}`
      : `its \`secrets\` returns none for "${tenant}"`;
  throw new MillraceError("missing_secret", `Cannot find the secret of "${wanted}": ${why}`);
}

export type LiveSecrets = Readonly<Record<string, readonly string[]>>;
