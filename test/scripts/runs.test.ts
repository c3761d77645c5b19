import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

// Plain JavaScript, which has to run before anything is built, and so without types.
const counting = new URL("../../scripts/count-tests.mjs", import.meta.url).href;
const { countTests, failedLines, notRun } = (await import(counting)) as {
  countTests: (report: string) => Counts;
  failedLines: (counts: Counts) => string[];
  notRun: (counts: Counts) => string[];
};

test("tests are counted by their end, failures and missing programs named; no report is a failure", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-counts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const report = join(folder, "report.json");
  const statuses = ["passed", "passed", "failed", "todo"];
  const testResults = [
    fileOf("failed", statuses),
    fileOf("failed", []),
    fileOf("passed", ["skipped", "skipped"], "queues (needs redis-server) keep"),
    fileOf("passed", ["pending"], "a disk (needs redis-server) (needs gcc)"),
  ];
  await writeFile(report, JSON.stringify({ testResults }));
  const counts = countTests(report);
  expect(counts).toMatchObject({ passed: 2, failed: 2, skipped: 4 });
  expect(failedLines(counts)).toEqual([
    "FAILED: test/one.test.ts > a test: Error: not equal",
    "FAILED: test/one.test.ts: Cannot find module",
  ]);
  expect(notRun(counts)).toEqual([
    expect.stringMatching(/^NOT RUN: 2 tests need redis-server .*apt-get install/),
    expect.stringMatching(/^NOT RUN: 1 tests need gcc .*apt-get install/),
  ]);
  await writeFile(report, '{"testResults":[');
  expect(countTests(report)).toMatchObject({ passed: 0, failed: 1 });
  expect(countTests(join(folder, "none.json"))).toMatchObject({ passed: 0, failed: 1 });
});

function fileOf(status: string, statuses: string[], fullName = "a test"): object {
  return {
    ...{ name: join(process.cwd(), "test", "one.test.ts"), status, message: "Cannot find module" },
    assertionResults: statuses.map((each) => ({
      ...{ status: each, fullName },
      failureMessages: each === "failed" ? ["Error: not equal\n    at here"] : [],
    })),
  };
}

test.each(["scripts/pack.mjs", "scripts/try-fresh-clone.mjs", "test/bench/run.mjs"])(
  "%s has help, and answers a mistake in one line",
  (script) => {
    const ask = (...args: string[]) =>
      spawnSync(process.execPath, [script, ...args], { cwd: ROOT, encoding: "utf8" });
    const help = ask("--help");
    expect(help).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage: ") });
    for (const args of ["--bogus", "bogus"]) {
      const stderr = expect.stringMatching(/^[^\n]*bogus[^\n]*\. Try --help\n$/);
      expect(ask(args)).toMatchObject({ status: 2, stdout: "", stderr });
    }
  },
);

test("a command's code is ours, and each press of Ctrl-C is passed on once", async () => {
  expect(await once(run("process.exit(7)").child, "exit")).toEqual([7, null]);
  const killed = run('process.kill(process.pid, "SIGKILL")');
  expect(await once(killed.child, "exit")).toEqual([137, null]);

  const { child, said } = run(`
    process.on("SIGINT", () => console.log("SIGINT"));
    process.on("SIGTERM", () => { console.log("SIGTERM"); process.exit(3); });
    setInterval(() => {}, 1_000);
    console.log("ready");`);
  const presses = () => said().match(/SIGINT/g)?.length ?? 0;
  await until(() => said().includes("ready"));
  // npm sends what the terminal sent once more.
  child.kill("SIGINT");
  child.kill("SIGINT");
  await until(() => presses() === 1);
  await until(() => {
    child.kill("SIGINT");
    return presses() === 2;
  });
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([3, null]);
});

function run(program: string) {
  const module = join(ROOT, "scripts", "run-command.mjs");
  const source = `
    const { runCommand } = await import(${JSON.stringify(module)});
    const args = ["-e", ${JSON.stringify(program)}];
    const { code } = await runCommand(process.execPath, args, { detached: true });
    process.exit(code);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.on("data", (data: Buffer) => (text += data.toString()));
  return { child, said: () => text };
}
