import { type Config, MillraceError, parseConfig, type Provider } from "@millrace/core";
import { createJiti } from "jiti";
import { existsSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { importError } from "./import-error.ts";

export interface LoadedConfig {
  readonly config: Config;
  readonly path: string;
  readonly directory: string;
}

/** Without handlers. @throws `config_not_found`; `invalid_config` if it throws or does not fit */
export async function loadConfig(path: string): Promise<LoadedConfig> {
  const absolute = resolve(path);
  if (statSync(absolute, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new MillraceError(
      "config_not_found",
      `Cannot load the config: no file "${absolute}". Set MILLRACE_CONFIG to the path of yours, or run in its folder`,
    );
  }
  // No cache on disk: it would be written next to the user's files, or where we may not write.
  const options = { fsCache: false, tsconfigPaths: dirname(absolute) };
  const jiti = createJiti(import.meta.url, options);
  let exported: unknown;
  try {
    exported = await jiti.import(absolute, { default: true });
  } catch (error) {
    // A module that exports null makes jiti itself fail.
    const [, firstCall = ""] = error instanceof TypeError ? (error.stack?.split("\n") ?? []) : [];
    const exportsNull = firstCall.includes("jiti.cjs");
    const problem = `Cannot load the config "${absolute}"`;
    throw importError("invalid_config", problem, exportsNull ? "it exports null" : error);
  }
  const config = parseConfig(exported, missingParts(exported));
  return { config, path: absolute, directory: dirname(absolute) };
}

const PROVIDER_PARTS = {
  ...{ name: "string", methods: "list", bodyBytesMax: "number", keptHeaders: "list" },
  ...{ idIsSigned: "boolean", createVerifier: "function", identify: "function" },
  ...{ generateSecret: "function", sampleTypes: "list", sample: "function", sign: "function" },
} satisfies Partial<Record<keyof Provider, string>>;

function missingParts(exported: unknown): string[] {
  const { sources } = (exported ?? {}) as { readonly sources?: unknown };
  return Object.entries((sources ?? {}) as Partial<Config["sources"]>).flatMap(([name, source]) => {
    const provider: unknown = source?.provider;
    // A stand-in for a role that verifies nothing has no name.
    if (typeof provider !== "object" || provider === null || !("name" in provider)) return [];
    return Object.entries(PROVIDER_PARTS).flatMap(([part, type]) => {
      const value: unknown = Reflect.get(provider, part);
      const isThere = (Array.isArray(value) ? "list" : typeof value) === type;
      return isThere ? [] : `  sources.${name}.provider: has no ${part} (${type})`;
    });
  });
}

/** The current folder if it contains the config, else that of the config's `package.json`. */
export function projectDirOf({ directory }: Pick<LoadedConfig, "directory">): string {
  const current = process.cwd();
  if (!relative(current, directory).startsWith("..")) return current;
  for (let folder = directory; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) return directory;
  }
}
