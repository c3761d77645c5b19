import { type Config, MillraceError, type Provider, secretVariable, withUrl } from "@millrace/core";
import { resolveSecrets } from "@millrace/service";
import { writePrivateFile } from "./write-private-file.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

const secretsSchema = z.record(z.string(), z.string().min(1));

/** The secrets that `millrace start` made, by source; none when it never ran here. */
export async function readDevelopmentSecrets(dataDir: string): Promise<Record<string, string>> {
  const path = secretsPath(dataDir);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
  try {
    return secretsSchema.parse(JSON.parse(text));
  } catch {
    throw new MillraceError(
      "invalid_config",
      `Cannot read the development secrets: ${path} is not a JSON object of strings. Remove it to create new ones`,
    );
  }
}

/**
 * Gives every named source a secret in its provider's own form. They are made once and kept in
 * `secrets.json` (0600), so that what was signed yesterday still verifies.
 */
export async function ensureDevelopmentSecrets(
  dataDir: string,
  sources: Readonly<Record<string, Provider>>,
): Promise<Record<string, string>> {
  const kept = await readDevelopmentSecrets(dataDir);
  const missing = Object.keys(sources).filter((source) => !Object.hasOwn(kept, source));
  const created = missing.map(
    (source) => [source, sources[source]?.generateSecret() ?? ""] as const,
  );
  const secrets = { ...kept, ...Object.fromEntries(created) };
  if (missing.length > 0) {
    await writePrivateFile(secretsPath(dataDir), `${JSON.stringify(secrets, null, 2)}\n`);
  }
  return Object.fromEntries(
    Object.keys(sources).map((source) => [source, secrets[source] ?? ""] as const),
  );
}

function secretsPath(dataDir: string): string {
  return join(dataDir, "secrets.json");
}

/**
 * Secrets for the sources that have none, as the environment variables that the ingress reads. They
 * are made the first time, and kept.
 */
export async function secretVariables(
  config: Config,
  from: { env: Readonly<Record<string, string | undefined>>; dataDir: string },
): Promise<Record<string, string>> {
  const own = resolveSecrets(config, from.env);
  const without = Object.entries(withUrl(config.sources)).filter(
    ([name]) => !Object.hasOwn(own, name),
  );
  const providers = without.map(([name, source]) => [name, source.provider] as const);
  const secrets = await ensureDevelopmentSecrets(from.dataDir, Object.fromEntries(providers));
  return Object.fromEntries(
    Object.entries(secrets).map(([name, secret]) => [secretVariable(name), secret]),
  );
}
