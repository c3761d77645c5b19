import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { type Environment, MillraceError, readEnvironment } from "@millrace/core";
import { loadConfig, type LoadedConfig, reasonOf } from "@millrace/service";

export interface Output {
  write(data: string | Uint8Array): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The process that a command runs in. Only `main.ts` fills it from a real one. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file that a child process runs to be this command again. */
  readonly bin: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Who runs the command; null where the system has no name for it. */
  readonly user: string | null;
  readStdin(): Promise<Buffer>;
  /** Asks the person at the terminal; undefined where nobody can answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Calls back on each Ctrl-C, SIGTERM and SIGHUP until the returned function is called. */
  onStopSignal(listener: (signal: NodeJS.Signals) => void): () => void;
  /** The code that the process exits with: 0 ok, 1 failure, 2 usage. */
  setExitCode(code: number): void;
  exit(code: number): void;
}

export interface Settings {
  readonly environment: Environment;
  readonly configPath: string;
  /** Absolute path of the folder that holds what `millrace start` keeps. */
  readonly dataDir: string;
}

export function readSettings(context: CliContext): Settings {
  // A host's PORT is for what strangers reach, and several roles may start here.
  const { PORT, ...env } = context.env;
  const environment = readEnvironment({ ...(PORT && { INGRESS_PORT: PORT }), ...env });
  return {
    environment,
    configPath: findConfig(environment.MILLRACE_CONFIG, context),
    dataDir: resolve(context.cwd, environment.MILLRACE_DATA_DIR),
  };
}

export type Project = Settings & LoadedConfig;

export async function loadProject(context: CliContext): Promise<Project> {
  const settings = readSettings(context);
  return { ...settings, ...(await loadConfig(settings.configPath)) };
}

/** Reads standard input for `-`. @throws `invalid_request` when the file cannot be read */
export async function readInput(file: string, context: CliContext): Promise<Buffer> {
  if (file === "-") return context.readStdin();
  try {
    return await readFile(file);
  } catch (error) {
    throw new MillraceError("invalid_request", `Cannot read "${file}": ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

const NAME = "millrace.config.ts";

/** Inside Millrace's own repository, the example store's config is the last choice. */
export function findConfig(named: string | undefined, at: { cwd: string; bin: string }): string {
  if (named !== undefined) return resolve(at.cwd, named);
  const here = join(at.cwd, NAME);
  if (existsSync(here)) return here;
  const repository = resolve(dirname(at.bin), "../../..");
  const example = join(repository, "examples", "store", NAME);
  const isInside = at.cwd === repository || at.cwd.startsWith(`${repository}${sep}`);
  return isInside && existsSync(example) ? example : here;
}
