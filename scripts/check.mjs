// `npm run check`: CI runs it in addition to the tests. Every step runs, also after one that
// failed. Two steps run at once, since most of them use one core.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { install } from "./install.mjs";
import { runNpm } from "./npm.mjs";
import { requireNode } from "./require-node.mjs";
import { runCommand } from "./run-command.mjs";

requireNode();
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);

const tool = (name, ...args) => runCommand(join(root, "node_modules", ".bin", name), args, inRoot);
const inRoot = { cwd: root, capture: true };
const first = {
  build: async () => ({ code: (await build(root)) ? 0 : 1, output: "" }),
  lockfile: () => runNpm(root, ["ci", "--dry-run", "--include=dev", "--loglevel=error"]),
  format: () => tool("prettier", "--check", "--log-level=warn", "."),
};
/** These read the types of other packages where the build puts them. */
const afterBuild = {
  lint: () => tool("oxlint", "--type-aware", "."),
  "types of tests": () => tool("tsc", "-p", "tsconfig.test.json"),
  "types of scripts": () => tool("tsc", "-p", "tsconfig.scripts.json"),
  // Strict sees what is built alone, and undeclared imports in it; the other run sees the tests
  // too.
  "dead code": () => tool("knip", "--strict", "--no-progress"),
  "dead code, tests and tools": () => tool("knip", "--no-progress"),
  "dead code, methods": () =>
    runCommand(process.execPath, [join(root, "scripts", "check-methods.mjs")], inRoot),
  layers: () => runCommand(process.execPath, [join(root, "scripts", "check-layers.mjs")], inRoot),
  words: () =>
    runCommand(
      process.execPath,
      [
        join(root, "scripts", "check-words.mjs"),
        "markdown",
        "strings",
        "alerts",
        "names",
        "comments",
      ],
      inRoot,
    ),
};

const failed = [];
for (const steps of [first, afterBuild]) {
  const waiting = Object.entries(steps);
  const runWaiting = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) await run(...step);
  };
  await Promise.all([runWaiting(), runWaiting()]);
}
console.log(failed.length === 0 ? "All checks passed" : `Failed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);

async function run(name, step) {
  const started = Date.now();
  const result = await step();
  if (result.signalled) process.exit(result.code);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${result.code === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  if (result.code === 0) return;
  failed.push(name);
  console.log(result.error?.message ?? result.output);
}
