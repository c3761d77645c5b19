// `npm test`, `npm run test:release` and `npm run test:faults`: installs what is missing, builds what
// has changed, runs the tests and counts them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";
import { chooseSuite } from "./choose-suite.mjs";
import { install } from "./install.mjs";
import { requireNode } from "./require-node.mjs";
import { runCommand } from "./run-command.mjs";
import { countTests, notRun } from "./count-tests.mjs";

// What a developer has set for their own Millrace must not steer the tests, nor be written to.
const OURS =
  /^(DATABASE_URL|REDIS_URL|HOST|LOG_LEVEL|PG[A-Z]+|MILLRACE_.*|DASHBOARD_.*|.*_PORT|.*_WEBHOOK_SECRET(_FILE)?)$/;

requireNode();
const vitestArgs = chooseSuite(process.argv.slice(2));
const root = dirname(dirname(fileURLToPath(import.meta.url)));
await install(root);
if (!(await build(root))) process.exit(1);
const folder = mkdtempSync(join(tmpdir(), "millrace-report-"));
const report = join(folder, "report.json");
const environment = Object.entries(process.env).filter(([name]) => !OURS.test(name));
const { code, signalled } = await runCommand(
  process.execPath,
  [
    ...[join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...vitestArgs],
    ...["--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
  ],
  { cwd: root, env: { ...Object.fromEntries(environment), NODE_ENV: "test" } },
);
const counts = countTests(report);
rmSync(folder, { recursive: true, force: true });
for (const line of notRun(counts)) console.log(line);
if (code !== 0 && counts.failed === 0) {
  console.log(`The run failed outside of any test: vitest ended with ${code}, see above`);
}
if (counts.passed + counts.failed === 0) console.log("No test ran");
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
const good = code === 0 && counts.failed === 0 && counts.passed > 0;
process.exit(good ? 0 : signalled ? code : 1);
