// `npm test`, `npm run test:proofs` and `npm run test:faults`: installs what is missing, builds
// what has changed, runs the tests and counts them.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { chooseSuite } from "./choose-suite.mjs";
import { install } from "./install.mjs";
import { requireNode } from "./require-node.mjs";
import { countsLine, runTests } from "./run-tests.mjs";

requireNode();
const vitestArgs = chooseSuite(process.argv.slice(2));
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);
const run = await runTests(root, vitestArgs);
console.log(countsLine(run));
process.exit(run.good ? 0 : (run.signalCode ?? 1));
