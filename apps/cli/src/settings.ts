import { resolve } from "node:path";
import { readEnvironment, type Environment } from "@millrace/core";
import type { CliContext } from "./context.ts";
import { findConfig } from "./find-config.ts";

/** What every command reads of its environment first. */
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
