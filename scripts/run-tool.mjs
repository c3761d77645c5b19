// Runs one of the repo's own programs: installs what is missing, builds what has changed, then
// becomes it.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { install } from "./install.mjs";
import { requireNode } from "./require-node.mjs";
import { runCommand } from "./run-command.mjs";

/** `path` is relative to the repo. The program gets this process's arguments and environment, and
 * `env`. */
export async function runTool(path, env = {}) {
  requireNode();
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  await install(root);
  if (!(await build(root))) process.exit(1);
  const { code } = await runCommand(
    process.execPath,
    [join(root, path), ...process.argv.slice(2)],
    {
      cwd: root,
      env: { ...process.env, ...env },
    },
  );
  process.exit(code);
}
