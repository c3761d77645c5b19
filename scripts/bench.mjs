// `npm run bench`: installs what is missing, builds what has changed, then measures.
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
const bench = join(root, "test", "bench", "run.mjs");
const { code } = await runCommand(process.execPath, [bench, ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, NODE_ENV: "production" },
});
process.exit(code);
