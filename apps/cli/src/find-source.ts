import {
  isInternal,
  MillraceError,
  secretVariable,
  type Config,
  type Source,
  withUrl,
} from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { readDevelopmentSecrets } from "./data-folder.ts";

/** @throws `unknown_source` for a source that has no URL, or is not in the config. */
export function findSource(config: Config, name: string, action: string): Source {
  const configured = Object.hasOwn(config.sources, name) ? config.sources[name] : undefined;
  if (configured !== undefined && !isInternal(configured)) return configured;
  const why =
    configured === undefined ? "" : "it is an internal source, whose events handlers emit; ";
  throw new MillraceError(
    "unknown_source",
    `Cannot ${action} "${name}": ${why}the config has ${Object.keys(withUrl(config.sources)).join(", ")}`,
  );
}

/**
 * The live secrets by source: those that are set, otherwise those that `millrace start` made.
 * @throws `missing_secret` when the source `wanted` has none.
 */
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
