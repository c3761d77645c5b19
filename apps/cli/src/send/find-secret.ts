import { MillraceError, secretVariable, type Config } from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { readDevelopmentSecrets } from "../development-secrets.ts";

/**
 * The secret that a source's deliveries are signed with: its own, else the one that
 * `millrace start` made here.
 *
 * @throws `missing_secret` when there is neither.
 */
export async function findSecret(
  source: string,
  config: Config,
  from: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
): Promise<string> {
  const [own] = resolveSecrets(config, from.env)[source] ?? [];
  const secret = own ?? (await readDevelopmentSecrets(from.dataDir))[source];
  if (secret !== undefined) return secret;
  throw new MillraceError(
    "missing_secret",
    `Cannot sign for "${source}": ${secretVariable(source)} is not set, and no \`millrace start\` ` +
      `has made a secret in ${from.dataDir}`,
  );
}
