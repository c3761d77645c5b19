import { type Environment, readEnvironment } from "@millrace/core";
import type { CliContext } from "./context.ts";
import { existsSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

/** The environment of a command. */
export interface Settings {
  readonly environment: Environment;
  /** Absolute path of the config file, whether it is there or not. */
  readonly configPath: string;
  /** Absolute path of the folder that holds what `millrace start` keeps. */
  readonly dataDir: string;
}

/**
 * Reads the environment of a command.
 *
 * @throws `invalid_config` with every problem of the environment.
 */
export function readSettings(context: CliContext): Settings {
  const environment = readEnvironment(context.env);
  return {
    environment,
    configPath: findConfig(environment.MILLRACE_CONFIG, context),
    dataDir: resolve(context.cwd, environment.MILLRACE_DATA_DIR),
  };
}

const NAME = "millrace.config.ts";

/**
 * Finds the config file: `MILLRACE_CONFIG`, else the one in the current folder, else, inside
 * Millrace's own repository, the example store's.
 */
export function findConfig(named: string | undefined, at: { cwd: string; bin: string }): string {
  if (named !== undefined) return resolve(at.cwd, named);
  const here = join(at.cwd, NAME);
  if (existsSync(here)) return here;
  const repository = resolve(dirname(at.bin), "../../..");
  const example = join(repository, "examples", "store", NAME);
  const isInside = at.cwd === repository || at.cwd.startsWith(`${repository}${sep}`);
  return isInside && existsSync(example) ? example : here;
}
