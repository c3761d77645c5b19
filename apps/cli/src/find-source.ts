import {
  isInternal,
  MillraceError,
  nearest,
  secretVariable,
  type Config,
  type Source,
} from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { readDevelopmentSecrets } from "./data-folder.ts";
import { printable } from "./terminal-text.ts";

/** @throws `unknown_source` for a source that has no URL, or is not in the config. */
export function findSource(config: Config, name: string, action: string): Source {
  const source = requireSource(config, name, action);
  if (!isInternal(source)) return source;
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

/** Those that are set, else of `millrace start`. @throws `missing_secret` if `wanted` has none */
export async function findSecrets(
  config: Config,
  wanted: string,
  from: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
): Promise<LiveSecrets> {
  const made = Object.entries(await readDevelopmentSecrets(from.dataDir));
  const secrets = {
    ...Object.fromEntries(made.map(([source, secret]) => [source, [secret]])),
    ...resolveSecrets(config, from.env),
  };
  if (Object.hasOwn(secrets, wanted)) return secrets;
  throw new MillraceError(
    "missing_secret",
    `Cannot find the secret of "${wanted}": ${secretVariable(wanted)} is not set, and no ` +
      `\`millrace start\` has made a secret in ${from.dataDir}`,
  );
}

export type LiveSecrets = Readonly<Record<string, readonly string[]>>;
