// `npm run test:nightly`: all tests there are, without a limit of time: `npm test`, the proofs,
// what is too slow for each change, every fault, `npm test` whole on the other supported Nodes, and
// a release without its publication: package, documentation site, image.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { chooseSuite } from "./choose-suite.mjs";
import { install } from "./install.mjs";
import { readOptions } from "./read-options.mjs";
import { requireNode } from "./require-node.mjs";
import { runCommand } from "./run-command.mjs";
import { countsLine, runTests } from "./run-tests.mjs";

const HELP = `Usage: npm run test:nightly [-- --only <suites>]

Runs every test: test, proofs, nightly, faults, nodes, release. It takes hours.

  --only <suites>    a comma-separated list of them`;

requireNode();
const { only } = readOptions({ only: { type: "string" } }, HELP);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);

const sum = { passed: 0, failed: 0, skipped: 0 };
const times = [];
const suite = (name, ...args) => runTests(root, chooseSuite(["--suite", name, ...args]));
const steps = {
  test: () => suite("test"),
  proofs: () => suite("proofs", "--maxWorkers=4"),
  nightly: () => suite("nightly", "--maxWorkers=4"),
  faults: () => suite("all-faults"),
  nodes: () => runScript("test-nodes.mjs", "--all"),
  release: () => runScript("release.mjs", "--dry-run"),
};
const wanted = only === undefined ? Object.keys(steps) : only.split(",");
const unknown = wanted.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0) {
  console.error(`There is no suite ${unknown.join(", ")}. Try --help`);
  process.exit(2);
}
for (const name of wanted) {
  const started = Date.now();
  const run = await steps[name]();
  if (run.signalCode !== undefined) process.exit(run.signalCode);
  sum.passed += run.passed;
  sum.failed += run.good ? 0 : Math.max(1, run.failed);
  sum.skipped += run.skipped;
  times.push(`${name} ${Math.round((Date.now() - started) / 1000)} s`);
  console.log(`${name}: ${countsLine(run)}`);
}
console.log(times.join(", "));
console.log(countsLine(sum));
process.exit(sum.failed === 0 ? 0 : 1);

/** A script counts as one test, and prints what is wrong. */
async function runScript(name, ...args) {
  const script = join(root, "scripts", name);
  const command = [script, ...args];
  const { code, signalled } = await runCommand(process.execPath, command, { cwd: root });
  const good = code === 0;
  const signalCode = signalled ? code : undefined;
  return { passed: good ? 1 : 0, failed: good ? 0 : 1, skipped: 0, good, signalCode };
}
