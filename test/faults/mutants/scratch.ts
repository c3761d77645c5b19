import { execFile } from "node:child_process";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import type { Edit } from "./mutants.ts";

const run = promisify(execFile);

export type Scratch = Awaited<ReturnType<typeof createScratch>>;

const LEFT_OUT = new Set(["node_modules", ".git", ".millrace", ".turbo", "coverage"]);

export async function createScratch(repository: string) {
  const root = await mkdtemp(join(tmpdir(), "millrace-mutants-"));
  await cp(repository, root, {
    recursive: true,
    filter: (path) => path === repository || !LEFT_OUT.has(basename(path)),
  });
  await linkPackages(join(repository, "node_modules"), join(root, "node_modules"));
  return {
    root,
    apply: (edits: readonly Edit[]) => apply(root, edits),
    /** Processes run the bundle of what was built. */
    bundle: () => run(process.execPath, [join(root, "scripts", "bundle.mjs")], { cwd: root }),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

// The links to our own packages are relative, so that a copy of them leads into the copy.
async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (entry.name === "@millrace") await linkPackages(source, target);
    else await symlink(source, target);
  }
}

async function apply(root: string, edits: readonly Edit[]): Promise<() => Promise<void>> {
  const before = new Map<string, string>();
  const undo = async () => {
    for (const [path, text] of before) await writeFile(path, text);
  };
  for (const { file, from, to } of edits) {
    const path = join(root, file);
    const text = await readFile(path, "utf8");
    if (!before.has(path)) before.set(path, text);
    const count = text.split(from).length - 1;
    if (count !== 1) {
      await undo();
      throw new Error(`The edit of ${file} no longer applies: its text is there ${count} times`);
    }
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
  return undo;
}
