import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { tsconfig } from "../package/project.ts";
import { samplesOf } from "../support/samples.ts";
import { FURTHER_TESTS } from "./handlers-page-tests.ts";

// The samples of docs/handlers.md are one project: each begins with the name of its file.

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

describe("the samples of the page on handlers", () => {
  let folder: string;
  let files: ReadonlyMap<string, string>;

  beforeAll(async () => {
    const page = await readFile(join(ROOT, "docs/handlers.md"), "utf8");
    files = samplesOf(page);
    folder = await mkdtemp(join(tmpdir(), "millrace-handlers-"));
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const project = new Map([
      ...files,
      ["further.test.ts", FURTHER_TESTS],
      ["package.json", '{ "private": true, "type": "module" }'],
      ["tsconfig.json", tsconfig("nodenext")],
    ]);
    for (const [name, text] of project) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("are all there: every code block belongs to the project", async () => {
    const page = await readFile(join(ROOT, "docs/handlers.md"), "utf8");
    expect(files.size).toBe(12);
    expect(page.match(/^```\w+$/gm)).toHaveLength(files.size);
  });

  test("compile", async () => {
    expect(await run("typescript/bin/tsc", "-p", ".")).toEqual({ code: 0, output: "" });
  });

  test("run, and do what the page says", async () => {
    const ran = await run("vitest/vitest.mjs", "run", "--reporter=json");
    const report = JSON.parse(ran.output.slice(ran.output.indexOf('{"num')));
    const failures = report.testResults.flatMap((file: { assertionResults: Assertion[] }) =>
      file.assertionResults.filter(({ status }) => status !== "passed"),
    );
    expect(failures).toEqual([]);
    expect(report).toMatchObject({ success: true, numPassedTests: 7 });
  });

  async function run(tool: string, ...args: readonly string[]) {
    const child = spawn(process.execPath, [join(ROOT, "node_modules", tool), ...args], {
      cwd: folder,
      env: {
        ...{ PATH: process.env["PATH"], HOME: process.env["HOME"] },
        TEST_DATABASE_URL: inject("postgresUrl"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk.toString()));
    await once(child, "close");
    return { code: child.exitCode, output: chunks.join("") };
  }
});

interface Assertion {
  readonly status: string;
  readonly fullName: string;
}
