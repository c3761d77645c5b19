import { secretVariable, type Config } from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { ensureDevelopmentSecrets } from "../development-secrets.ts";

/**
 * Secrets for the sources that have none, as the environment variables that the ingress reads. They
 * are made the first time, and kept.
 */
export async function secretVariables(
  config: Config,
  from: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
): Promise<Record<string, string>> {
  const own = resolveSecrets(config, from.env);
  const without = Object.entries(config.sources).filter(([name]) => !Object.hasOwn(own, name));
  const providers = without.map(([name, source]) => [name, source.provider] as const);
  const secrets = await ensureDevelopmentSecrets(from.dataDir, Object.fromEntries(providers));
  return Object.fromEntries(
    Object.entries(secrets).map(([name, secret]) => [secretVariable(name), secret]),
  );
}
