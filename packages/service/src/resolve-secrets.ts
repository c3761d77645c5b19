import { readFileSync } from "node:fs";
import { MillraceError, secretVariable, type Config } from "@millrace/core";
import { reasonOf } from "./trouble-log.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Finds each source's live secrets: `<SOURCE>_WEBHOOK_SECRET` (comma-separated while one is being
 * changed), else the file that `<SOURCE>_WEBHOOK_SECRET_FILE` names, else the config's `secret`.
 * A source without any is left out; whoever needs it refuses to start.
 *
 * @throws `missing_secret` with every file that cannot be read.
 */
export function resolveSecrets(config: Config, env: Variables): Record<string, readonly string[]> {
  const secrets: Record<string, readonly string[]> = {};
  const problems: string[] = [];
  for (const [name, source] of Object.entries(config.sources)) {
    try {
      const found = fromEnvironment(name, env) ?? listOf(source.options.secret);
      if (found.length > 0) secrets[name] = found;
    } catch (error) {
      problems.push(`  ${secretVariable(name)}_FILE: ${reasonOf(error)}`);
    }
  }
  if (problems.length > 0) {
    throw new MillraceError("missing_secret", `Cannot read secrets:\n${problems.join("\n")}`);
  }
  return secrets;
}

function fromEnvironment(source: string, env: Variables): readonly string[] | undefined {
  const variable = secretVariable(source);
  const inline = env[variable];
  if (inline !== undefined && inline !== "") return split(inline);
  const file = env[`${variable}_FILE`];
  if (file !== undefined && file !== "") return split(readFileSync(file, "utf8"));
  return undefined;
}

const split = (text: string): readonly string[] =>
  text
    .split(/[,\n]/)
    .map((secret) => secret.trim())
    .filter((secret) => secret !== "");

function listOf(secret: string | readonly string[] | undefined): readonly string[] {
  if (secret === undefined) return [];
  return typeof secret === "string" ? [secret] : secret;
}
