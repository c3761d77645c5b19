import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  skippedTitles: string[];
  failures: string[];
}

// Plain JavaScript, which has to run before anything is built, and so without types.
const script = new URL("../../scripts/count-tests.mjs", import.meta.url).href;
const { countTests, failedLines, notRun } = (await import(script)) as {
  countTests: (report: string) => Counts;
  failedLines: (counts: Counts) => string[];
  notRun: (counts: Counts) => string[];
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-counts-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test("tests are counted by what became of them", async () => {
  const statuses = ["passed", "passed", "failed", "skipped", "todo", "pending"];
  expect(await counted([file("failed", statuses)])).toMatchObject({
    passed: 2,
    failed: 1,
    skipped: 3,
  });
});

test("a file that failed without a failed test counts as one", async () => {
  expect(await counted([file("failed", []), file("failed", ["passed"])])).toMatchObject({
    passed: 1,
    failed: 2,
  });
});

test("a report that was never written, or only half, counts as a failure", async () => {
  expect(countTests(join(folder, "none.json"))).toMatchObject({ passed: 0, failed: 1 });
  await writeFile(join(folder, "half.json"), '{"testResults":[');
  expect(countTests(join(folder, "half.json"))).toMatchObject({ passed: 0, failed: 1 });
});

test("what was not run is said, with what is missing and how to get it", async () => {
  const skipped = await counted([
    file("passed", ["skipped", "skipped"], "queues (needs redis-server) keep"),
    file("passed", ["skipped"], "a disk (needs redis-server) (needs gcc)"),
    file("passed", ["skipped"], "something else"),
  ]);
  expect(notRun(skipped)).toEqual([
    expect.stringMatching(/^NOT RUN: 2 tests need redis-server .*apt-get install/),
    expect.stringMatching(/^NOT RUN: 1 tests need gcc .*apt-get install/),
  ]);
});

test("each failure is one line: its file, its title, and what the error says first", async () => {
  const failures = await counted([file("failed", ["failed", "passed"]), file("failed", [])]);
  expect(failedLines(failures)).toEqual([
    "FAILED: test/one.test.ts > a test: Error: not equal",
    "FAILED: test/one.test.ts: Cannot find module",
  ]);
});

async function counted(testResults: object[]): Promise<Counts> {
  await writeFile(join(folder, "report.json"), JSON.stringify({ testResults }));
  return countTests(join(folder, "report.json"));
}

function file(status: string, statuses: string[], fullName = "a test"): object {
  return {
    ...{ name: join(process.cwd(), "test", "one.test.ts"), status, message: "Cannot find module" },
    assertionResults: statuses.map((each) => ({
      ...{ status: each, fullName },
      failureMessages: each === "failed" ? ["Error: not equal\n    at here"] : [],
    })),
  };
}
