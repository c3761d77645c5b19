import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { tsconfig } from "../package/project.ts";
import { runProgram } from "./millrace-process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export type PageProject = Awaited<ReturnType<typeof createPageProject>>;

export async function createPageProject(files: ReadonlyMap<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-page-"));
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const project = new Map([
    ...files,
    ["package.json", '{ "private": true, "type": "module" }'],
    ["tsconfig.json", tsconfig("nodenext")],
    // As an installed package: its bundle lies outside of `node_modules` here.
    [
      "vitest.config.mjs",
      "export default { test: { server: { deps: { external: [/bundle/] } } } };",
    ],
  ]);
  for (const [name, text] of project) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }

  const run = (tool: string, ...args: readonly string[]) => {
    const env = { TEST_DATABASE_URL: inject("postgresUrl") };
    const command = [join(ROOT, "node_modules", tool), ...args];
    return runProgram(process.execPath, command, env, { cwd: folder, ipc: false });
  };

  return {
    folder,
    compile: () => run("typescript/bin/tsc", "-p", "."),
    test: async () => {
      // One process that loads Millrace once: the files have a database each.
      const oneProcess = ["--no-isolate", "--maxWorkers=1"];
      const { output } = await run("vitest/vitest.mjs", "run", "--reporter=json", ...oneProcess);
      const at = output.indexOf('{"num');
      if (at === -1) throw new Error(`Cannot run the page's tests:\n${output}`);
      const report = JSON.parse(output.slice(at));
      const failures: object[] = report.testResults.flatMap((file: ReportedFile) => {
        const failed = file.assertionResults.filter(({ status }) => status !== "passed");
        // A file fails before its tests, or after them.
        return file.status === "failed" && failed.length === 0 ? [file] : failed;
      });
      return { success: report.success, numPassedTests: report.numPassedTests, failures };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

interface ReportedFile {
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string }[];
}
