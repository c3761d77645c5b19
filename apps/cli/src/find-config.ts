import { existsSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

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
