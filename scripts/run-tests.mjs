import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { countTests, failedLines, notRun } from "./count-tests.mjs";
import { runCommand } from "./run-command.mjs";

// The settings of a developer's own Millrace must not steer the tests or be written to.
const OURS =
  /^((RETENTION_)?DATABASE_((SESSION|READ)_)?URL|REDIS_URL|HOST|LOG_LEVEL|PG[A-Z]+|MILLRACE_.*|DASHBOARD_.*|.*_PORT|.*_WEBHOOK_SECRET(_FILE)?)$/;

/**
 * Runs vitest in a built clone, on the Node that is given, and counts its tests. Gives the counts
 * with `good`, and the exit code of a run that a signal ended. A `quiet` run prints vitest's output
 * only when it is not good.
 */
export async function runTests(root, vitestArgs, { node = process.execPath, quiet = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-report-"));
  const report = join(folder, "report.json");
  const environment = Object.entries(process.env).filter(([name]) => !OURS.test(name));
  const { code, signalled, output } = await runCommand(
    node,
    [
      ...[join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...vitestArgs],
      ...["--reporter=default", `--reporter=${join(root, "scripts", "report-failures.mjs")}`],
      ...["--reporter=json", `--outputFile.json=${report}`],
    ],
    {
      capture: quiet,
      cwd: root,
      env: {
        ...Object.fromEntries(environment),
        NODE_ENV: "test",
        PATH: `${dirname(node)}:${process.env["PATH"] ?? ""}`,
      },
    },
  );
  const counts = countTests(report);
  rmSync(folder, { recursive: true, force: true });
  for (const line of [...notRun(counts), ...failedLines(counts)]) console.log(line);
  if (code !== 0 && counts.failed === 0) {
    console.log(`The run failed outside of any test: vitest ended with ${code}, see above`);
  }
  if (counts.passed + counts.failed === 0) console.log("No test ran");
  const good = code === 0 && counts.failed === 0 && counts.passed > 0;
  if (quiet && !good) console.log(output);
  return { ...counts, good, signalCode: signalled ? code : undefined };
}

/** The last line of a run, which `.ci/run` reads. */
export function countsLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
