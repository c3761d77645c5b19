// `npm start`: installs what is missing, builds what has changed, and becomes `millrace start`.
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
// Of a session of its own, so that Ctrl-C reaches it through us and once. When we are killed the
// channel closes, and it ends in good order.
const { code } = await runCommand(
  process.execPath,
  [join(root, "apps", "cli", "bin", "millrace.mjs"), "start", ...process.argv.slice(2)],
  { cwd: root, detached: true, stdio: ["inherit", "inherit", "inherit", "ipc"] },
);
process.exit(code);
