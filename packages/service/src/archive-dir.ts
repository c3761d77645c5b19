import { resolve } from "node:path";
import type { LoadedConfig } from "./load-config.ts";

/** The absolute path of the folder for archives; undefined when bodies are dropped without one. */
export function archiveDirOf({ config, directory }: LoadedConfig): string | undefined {
  const { archive } = config.retention;
  return archive === undefined ? undefined : resolve(directory, archive);
}
