import { readFileSync } from "node:fs";
import {
  hasTenants,
  jsonOf,
  MillraceError,
  secretsOf,
  secretVariable,
  withoutQuotes,
  withUrl,
  type Config,
  type Source,
} from "@millrace/core";
import { reasonOf } from "./error-log.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Finds each source's live secrets: `<SOURCE>_WEBHOOK_SECRET`, else the file that
 * `<SOURCE>_WEBHOOK_SECRET_FILE` names, else the config's `secret`. Several are live during a
 * rotation: separated by commas in the variable, one a line in the file, or a JSON list in either,
 * which a secret with a comma needs. A source without any is left out; with tenants it has none.
 * @throws `missing_secret` with every variable whose text cannot be a list of secrets, and every
 * file that cannot be read. No message quotes a secret.
 */
export function resolveSecrets(config: Config, env: Variables): Record<string, readonly string[]> {
  const secrets: Record<string, readonly string[]> = {};
  const problems: string[] = [];
  for (const [name, source] of Object.entries(withUrl(config.sources))) {
    if (source.provider.needsSecret === false || hasTenants(source)) {
      secrets[name] = hasTenants(source) ? [] : [""];
      continue;
    }
    const variable = secretVariable(name);
    const text = env[variable];
    const file = env[`${variable}_FILE`];
    try {
      // Of a sender that is not known by its provider, the quotes may be the secret's.
      const isKnown = source.provider.name !== "hmac";
      const bare = isKnown && isSet(text) ? withoutQuotes(variable, text) : text;
      if (isSet(bare)) secrets[name] = parseVariable(bare, source);
      else if (isSet(file)) secrets[name] = parseFile(readFileSync(file, "utf8"));
      else secrets[name] = [source.options.secret ?? []].flat();
      if (secrets[name].length === 0) delete secrets[name];
      else checkPrefix(name, source, secrets[name]);
    } catch (error) {
      problems.push(`  ${variable}${isSet(text) ? "" : "_FILE"}: ${reasonOf(error)}`);
    }
  }
  if (problems.length > 0) {
    throw new MillraceError("missing_secret", `Cannot read secrets:\n${problems.join("\n")}`);
  }
  return secrets;
}

function checkPrefix(name: string, { provider }: Source, secrets: readonly string[]): void {
  const prefix = provider.secretPrefix ?? "";
  if (secrets.every((secret) => secret.startsWith(prefix))) return;
  const what = `A secret of source "${name}" does not begin with "${prefix}", as its sender's do`;
  process.emitWarning(`${what}. An API key verifies nothing`, { type: "MillraceWarning" });
}

const isSet = (text: string | undefined): text is string => text !== undefined && text !== "";

function parseVariable(text: string, source: Source): readonly string[] {
  const list = parseList(text);
  if (list !== undefined) return list;
  const parts = trimmed(text.match(PARTS));
  // A secret with a comma must not become two halves, each of them live; `v1,whsec_` is one text.
  if (parts.length > 1) for (const [index, part] of parts.entries()) checkPart(source, part, index);
  return parts;
}

function parseFile(text: string): readonly string[] {
  return parseList(text) ?? trimmed(text.match(LINES));
}

// A key in PEM is one secret of several lines.
const PARTS = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----|(?:[^,\n]|(?<=\bv1),)+/g;
const LINES = /-----BEGIN [^-]+-----[^-]+-----END [^-]+-----|[^\n]+/g;

function parseList(text: string): readonly string[] | undefined {
  if (!text.trimStart().startsWith("[")) return undefined;
  const list = jsonOf(text);
  if (Array.isArray(list) && list.length > 0 && list.every(isSecret)) return list;
  throw new Error('it begins with "[" and is not a JSON list of secrets, such as ["one", "two"]');
}

const isSecret = (item: unknown): item is string => typeof item === "string" && item !== "";

function checkPart({ provider }: Source, part: string, index: number): void {
  try {
    provider.createVerifier([part]);
  } catch (error) {
    throw new Error(
      `part ${index + 1} of its comma-separated list cannot be a secret: ${reasonOf(error)}. If the` +
        ' secret itself holds a comma, write a JSON list (["..."]), or one secret a line in a file',
      { cause: error },
    );
  }
}

const trimmed = (parts: readonly string[] | null): readonly string[] =>
  (parts ?? []).map((part) => part.trim()).filter((part) => part !== "");

/** The secrets that errors and log lines leave out: those of the environment and of the sources. */
export function secretsToHide(config: Config, env: Variables): readonly string[] {
  let sources: Readonly<Record<string, readonly string[]>> = {};
  try {
    sources = resolveSecrets(config, env);
  } catch {
    // Handlers cannot leak a file that this process may not read.
  }
  const own = Object.entries(sources).flatMap(([name, secrets]) =>
    secrets.map((secret, index) => [`${name}_${index}_secret`, secret]),
  );
  return secretsOf({ ...env, ...Object.fromEntries(own) });
}
