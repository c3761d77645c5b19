import { join } from "node:path";
import { install } from "./install.mjs";
import { runCommand } from "./run-command.mjs";

/** Runs the tool of change files, which is installed when it is first asked for. */
export async function runChangeset(root, args) {
  const tools = join(root, "infra", "site");
  await install(tools);
  return await runCommand(join(tools, "node_modules", ".bin", "changeset"), args, { cwd: root });
}
