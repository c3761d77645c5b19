import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** What a run of test files came to. */
export interface TestRun {
  readonly ok: boolean;
  /** Of each test file that ran. */
  readonly files: readonly { readonly path: string; readonly ok: boolean; readonly ms: number }[];
  /** The first test that failed, or what else went wrong. */
  readonly failure: string | undefined;
}

/** How the tests of a copy are run. */
export interface Runner {
  readonly root: string;
  readonly signal: AbortSignal;
}

interface JsonReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** A test that takes longer has met a mutant that hangs. */
const TEST_TIMEOUT_MS = 60_000;

/** Runs test files of a copy with vitest; `bail` ends the run at the first test that fails. */
export async function runTests(
  { root, signal }: Runner,
  { paths, bail, timeoutMs }: { paths: readonly string[]; bail: boolean; timeoutMs: number },
): Promise<TestRun> {
  const json = join(root, "report.json");
  await rm(json, { force: true });
  const command = [
    process.execPath,
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    ...["--reporter=json", `--outputFile.json=${json}`, `--testTimeout=${TEST_TIMEOUT_MS}`],
    ...(bail ? ["--bail=1"] : []),
    ...paths,
  ];
  const { code, timedOut } = await runIn(root, command, { signal, timeoutMs });
  const report = await readFile(json, "utf8").then(
    (text) => JSON.parse(text) as JsonReport,
    () => undefined,
  );
  const results = report?.testResults ?? [];
  return {
    ok: code === 0,
    files: results.map(({ name, status, startTime, endTime }) => ({
      path: relative(root, name).split(sep).join("/"),
      ok: status === "passed",
      ms: endTime - startTime,
    })),
    failure: code === 0 ? undefined : timedOut ? "it does not end" : failureOf(results),
  };
}

function failureOf(results: JsonReport["testResults"]): string {
  for (const { assertionResults, message } of results) {
    const failed = assertionResults.find(({ status }) => status === "failed");
    if (failed !== undefined) return failed.fullName;
    if (message !== "") return message.split("\n")[0] ?? "";
  }
  return "the run failed outside of a test";
}

function runIn(
  cwd: string,
  [command = "", ...args]: readonly string[],
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<{ code: number | null; timedOut: boolean }> {
  return new Promise((resolve) => {
    // A group of its own, so that what the tests started ends with them.
    const child = spawn(command, args, {
      cwd,
      stdio: "ignore",
      detached: true,
    });
    let timedOut = false;
    const end = (): void => {
      try {
        process.kill(-(child.pid ?? 0), "SIGKILL");
      } catch {
        // It is over.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    signal.addEventListener("abort", end);
    child.on("close", (code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      end();
      resolve({ code, timedOut });
    });
  });
}
