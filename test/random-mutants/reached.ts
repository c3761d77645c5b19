import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { REACHED } from "./plant.ts";

/** Which test files reach a mutant, by the mutant's number. */
export async function readReached(root: string): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const text = await readFile(join(root, REACHED), "utf8").catch(() => "");
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.split("\t"));
  /** The test files that ran in a process; without isolation these are several. */
  const testsIn = new Map<string, Set<string>>();
  for (const [, pid = "", , test = ""] of lines) {
    if (test !== "") testsIn.set(pid, (testsIn.get(pid) ?? new Set()).add(test));
  }
  const reached = new Map<number, Set<string>>();
  for (const [number, , parent = "", test = ""] of lines) {
    // A process that a test started is reached by what ran in its parent.
    const tests = test === "" ? (testsIn.get(parent) ?? []) : [test];
    const known = reached.get(Number(number)) ?? new Set();
    for (const path of tests) known.add(relative(root, path).split(sep).join("/"));
    reached.set(Number(number), known);
  }
  return reached;
}
