import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { transformWithEsbuild } from "vite";
import type { Mutant } from "./find-mutants.ts";

/** Where every process of a copy reads which mutant is on, and notes which ones it reaches. */
export const ACTIVE = "active-mutant";
export const REACHED = "reached-mutants";

/** No mutant is on; each process notes what it reaches. */
export const RECORDING = 0;

/**
 * Plants all mutants in a copy of the repository at once, in its sources and in what is built of them:
 * each is a choice between what stands there and the mistake. Their numbers begin with 1.
 */
export async function plant(root: string, mutants: readonly Mutant[]): Promise<void> {
  const files = new Set(mutants.map(({ file }) => file));
  for (const file of files) {
    const planted = mutants.filter((mutant) => mutant.file === file);
    const path = join(root, file);
    let text = await readFile(path, "utf8");
    for (const mutant of planted.toSorted((a, b) => b.start - a.start)) {
      const { start, end, switched } = mutant;
      const choice = switched(text.slice(start, end), mutants.indexOf(mutant) + 1);
      text = text.slice(0, start) + choice + text.slice(end);
    }
    text += chooser(root);
    await writeFile(path, text);
    await writeFile(builtPath(path), await build(path, text));
  }
}

const builtPath = (path: string): string => path.replace("/src/", "/dist/").replace(/\.ts$/, ".js");

/** Without the types, which a mutant may break: it is the tests that are to find it. */
async function build(path: string, text: string): Promise<string> {
  const { code } = await transformWithEsbuild(text, path, {
    target: "es2023",
    sourcemap: false,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, target: "es2023" } },
  });
  return code.replaceAll(/((?:from|import)\s*\(?\s*"\.[^"]*)\.ts"/g, '$1.js"');
}

/**
 * What a file with mutants ends with. Which one is on is read once a process; who reaches one is told by
 * the test file that runs there, or by the process and its parent.
 */
const chooser = (root: string): string => `
function __mutant(number) {
  const { mutants } = (globalThis.__planted ??= (() => {
    const { appendFileSync, readFileSync } = process.getBuiltinModule("node:fs");
    const active = Number(readFileSync(${JSON.stringify(join(root, ACTIVE))}, "utf8"));
    const noted = new Set();
    const mutants = (number) => {
      if (active !== ${RECORDING}) return number === active;
      const test = globalThis.__vitest_worker__?.filepath ?? "";
      const line = [number, process.pid, process.ppid, test].join("\\t") + "\\n";
      if (!noted.has(line)) appendFileSync(${JSON.stringify(join(root, REACHED))}, line);
      noted.add(line);
      return false;
    };
    return { mutants };
  })());
  return mutants(number);
}
`;
