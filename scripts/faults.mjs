// `npm run faults`: installs what is missing, builds what has changed, then breaks things (--help).
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { install } from "./install.mjs";
import { requireNode } from "./require-node.mjs";
import { runCommand } from "./run-command.mjs";

requireNode();
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);
const main = join(root, "test", "faults", "main.mjs");
const { code } = await runCommand(process.execPath, [main, ...process.argv.slice(2)], {
  cwd: root,
});
process.exit(code);
