import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createRandom } from "../faults/random.ts";
import { findMutants, type Mutant } from "./find-mutants.ts";

/**
 * Mutants of each workspace: 100 in proportion to the lines at commit d492738. They stay as they are
 * when files move, so that the counts of two builds can be compared.
 */
export const COUNTS = {
  "packages/core": 8,
  "packages/intake": 11,
  "packages/queue": 16,
  "packages/ledger": 29,
  "packages/processor": 8,
  "packages/operations": 14,
  "packages/storage": 3,
  "apps/worker": 7,
  "apps/ingress": 4,
} as const;

/** Workspaces that were renamed since. */
const RENAMED: Readonly<Record<string, string>> = { "packages/storage": "packages/connect" };

/** Draws so many mutants of each workspace, of all in turn, so that a part of them is of all, too. */
export async function drawMutants(root: string, seed: number): Promise<Mutant[]> {
  const byWorkspace: Mutant[][] = [];
  for (const [workspace, count] of Object.entries(COUNTS)) {
    const files = await sources(root, workspace);
    const all: Mutant[] = [];
    for (const file of files)
      all.push(...findMutants(file, await readFile(join(root, file), "utf8")));
    const random = createRandom(seed);
    const drawn: Mutant[] = [];
    while (drawn.length < count && all.length > 0) {
      // The operator first: else most would be removed calls.
      const operator = random.pick([...new Set(all.map((mutant) => mutant.operator))]);
      const mutant = random.pick(all.filter((one) => one.operator === operator));
      all.splice(all.indexOf(mutant), 1);
      if (!drawn.some((other) => overlap(mutant, other))) drawn.push(mutant);
    }
    byWorkspace.push(drawn);
  }
  return inTurn(byWorkspace);
}

const overlap = (a: Mutant, b: Mutant): boolean =>
  a.file === b.file && a.start < b.end && b.start < a.end;

async function sources(root: string, workspace: string): Promise<string[]> {
  const names = [workspace, RENAMED[workspace]].filter((name) => name !== undefined);
  for (const name of names) {
    const folder = join(name, "src");
    const entries = await readdir(join(root, folder), { recursive: true }).catch(() => []);
    const files = entries.filter(
      (path) => path.endsWith(".ts") && !/\.test\.ts$|(^|\/)testing\//.test(path),
    );
    if (files.length > 0) return files.toSorted().map((path) => join(folder, path));
  }
  throw new Error(`Cannot draw mutants: ${workspace} has no sources`);
}

/** Spreads each list evenly over the whole. */
function inTurn(lists: readonly (readonly Mutant[])[]): Mutant[] {
  return lists
    .flatMap((list) => list.map((mutant, index) => ({ mutant, at: (index + 0.5) / list.length })))
    .toSorted((a, b) => a.at - b.at)
    .map(({ mutant }) => mutant);
}
