import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { drawMutants } from "./draw.ts";
import { ACTIVE, plant, REACHED, RECORDING } from "./plant.ts";
import { readReached } from "./reached.ts";
import { runTests, type Runner } from "./run-tests.ts";

/** A mutant that is planted in a copy, and what is to be tried on it. */
export interface PlannedMutant {
  /** What switches it on, from 1. */
  readonly number: number;
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  readonly was: string;
  /** The test files that reach it, those of its workspace first, and of these the quickest. */
  readonly tests: readonly string[];
  /** Milliseconds that they took without a mutant. */
  readonly testsMs: number;
}

/** What a copy holds, kept in it so that another process can go on with it. */
export interface Plan {
  readonly seed: number;
  readonly mutants: readonly PlannedMutant[];
}

/** Suites that are slow, or about something else than the workspaces that get mutants. */
const LEFT_OUT =
  /^test\/(faults|random-mutants|browser|package|infra|examples|fuzz|bad-input|embedded-postgres|bench|docs|scripts|golden|cli|dashboard|testing)\//;
const OWN =
  /^(packages\/(core|intake|queue|ledger|processor|operations|storage|connect)|apps\/(worker|ingress)|test)\//;
const RECORDING_MS = 3_600_000;
const FILE = "mutants-plan.json";

const print = (text: string) => void process.stdout.write(`${text}\n`);

/** Plants mutants in a copy, and runs the tests once to see which of them reaches which mutant. */
export async function makePlan(
  runner: Runner,
  { seed, limit }: { seed: number; limit: number },
): Promise<Plan> {
  const { root } = runner;
  const drawn = (await drawMutants(root, seed)).slice(0, limit);
  const files = await testFiles(root);
  print(
    `Planting ${drawn.length} mutants, then ${files.length} test files to see who reaches them`,
  );
  await rm(join(root, REACHED), { force: true });
  await writeFile(join(root, ACTIVE), String(RECORDING));
  await plant(root, drawn);
  const run = await runTests(runner, { paths: files, bail: false, timeoutMs: RECORDING_MS });
  const times = new Map(run.files.filter(({ ok }) => ok).map(({ path, ms }) => [path, ms]));
  const failed = run.files.filter(({ ok }) => !ok).map(({ path }) => path);
  if (times.size === 0) throw new Error(`Cannot try mutants: no test passes. ${run.failure}`);
  if (failed.length > 0) print(`Left out, as they fail without a mutant: ${failed.join(", ")}`);
  const reached = await readReached(root);
  const timeOf = (path: string): number => times.get(path) ?? 0;
  const mutants = drawn.map(({ file, line, operator, was }, index) => {
    const tests = [...(reached.get(index + 1) ?? [])]
      .filter((path) => times.has(path))
      .toSorted(
        (a, b) => Number(isNear(b, file)) - Number(isNear(a, file)) || timeOf(a) - timeOf(b),
      );
    const testsMs = tests.reduce((sum, path) => sum + timeOf(path), 0);
    return { number: index + 1, file, line, operator, was, tests, testsMs };
  });
  await writeFile(join(root, FILE), JSON.stringify({ seed, mutants } satisfies Plan, null, 2));
  return { seed, mutants };
}

/** Whether a test file is about the workspace of a source file: `test/queue/` about `packages/queue`. */
function isNear(test: string, file: string): boolean {
  const [folder = "", name = ""] = file.split("/");
  return [`${folder}/${name}/`, `test/${name}/`, `/${name}.`].some((part) => test.includes(part));
}

/** The plan of a copy that an earlier run has left. */
export async function readPlan(root: string): Promise<Plan> {
  return JSON.parse(await readFile(join(root, FILE), "utf8")) as Plan;
}

async function testFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["packages", "apps", "test"]) {
    const entries = await readdir(join(root, folder), { recursive: true });
    found.push(...entries.map((path) => `${folder}/${path.split(sep).join("/")}`));
  }
  return found
    .filter((path) => path.endsWith(".test.ts") && !path.includes("/node_modules/"))
    .filter((path) => OWN.test(path) && !LEFT_OUT.test(path))
    .toSorted();
}
