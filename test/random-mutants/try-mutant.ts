import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PlannedMutant } from "./plan.ts";
import { ACTIVE } from "./plant.ts";
import { runTests, type Runner } from "./run-tests.ts";

/** What became of a mutant. */
export interface Verdict {
  readonly number: number;
  /** The test that it failed; undefined when it survived. */
  readonly by?: string | undefined;
}

const QUICK = 5;
const LEAST_MS = 120_000;

/**
 * Switches a mutant on, and tries the first files first: most are caught by one of them. With
 * `filesMax`, the last of the files that reach it are left out.
 */
export async function tryMutant(
  runner: Runner,
  { number, tests: all, testsMs }: PlannedMutant,
  filesMax: number,
): Promise<Verdict> {
  const tests = all.slice(0, filesMax);
  const timeoutMs = LEAST_MS + (3 * testsMs * tests.length) / Math.max(1, all.length);
  await writeFile(join(runner.root, ACTIVE), String(number));
  for (const paths of [tests.slice(0, QUICK), tests.slice(QUICK)]) {
    if (paths.length === 0) continue;
    const run = await runTests(runner, { paths, bail: true, timeoutMs });
    if (run.ok) continue;
    if (runner.signal.aborted) break;
    // On a busy machine a test may fail by itself; not twice, alone.
    const culprit = run.files.filter(({ ok }) => !ok).map(({ path }) => path);
    const again = culprit.length > 0 ? culprit : paths;
    const second = await runTests(runner, { paths: again, bail: true, timeoutMs });
    if (!second.ok) return { number, by: second.failure };
  }
  return { number };
}
