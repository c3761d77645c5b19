import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createScratch } from "../faults/mutants/scratch.ts";
import { COUNTS } from "./draw.ts";
import { makePlan, readPlan, type Plan } from "./plan.ts";
import { nameOf, report } from "./report.ts";
import { tryMutant, type Verdict } from "./try-mutant.ts";

const MAIN = fileURLToPath(new URL("main.mjs", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const HELP = `npm run mutants -- [options]

Makes random small mistakes in a copy of the repository, one at a time, and says which ones the unit
and integration tests notice: a flipped or moved comparison, a negated condition, && for ||, a swapped
boolean, a number that is one more, an emptied return, a removed call or statement.

There are ${Object.values(COUNTS).reduce((sum, count) => sum + count, 0)} of them, a fixed number a workspace, so that two builds can be compared:
${Object.entries(COUNTS)
  .map(([workspace, count]) => `  ${workspace} ${count}`)
  .join("\n")}

First the tests run once on the copy, to see which test file reaches which mutant; then each mutant is
tried with the files that reach it, those of its workspace first. A kill counts when it is seen twice.
A run that is broken off leaves its copy, and says how to go on with it.

  --seed <n>           draws other mutants (default: 1)
  --root <folder>      the repository to try (default: this one), installed and built
  --limit <n>          tries no more than so many, spread over the workspaces
  --files <n>          tries each with no more than so many of its test files (default: all)
  --minutes <n>        begins no mutant after so many minutes
  --through <command>  tries each mutant through a command, such as "nice -n 10"
  --out <file>         writes the report, as Markdown, there too; after each mutant
  --in <folder>        goes on with the copy that a run has left`;

const VERDICTS = "mutants-verdicts.json";
const print = (text: string) => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const { values: options } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      root: { type: "string", default: REPOSITORY },
      limit: { type: "string", default: "1000" },
      files: { type: "string", default: "1000" },
      minutes: { type: "string", default: "1000" },
      through: { type: "string", default: "" },
      out: { type: "string" },
      in: { type: "string" },
      // What this program asks of itself, in processes of their own.
      plan: { type: "boolean", default: false },
      try: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (options.help) {
    print(HELP);
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => interrupted.abort());
  }
  const { signal } = interrupted;
  const root = options.in ?? (await createScratch(resolve(options.root))).root;
  if (options.plan) {
    await makePlan({ root, signal }, { seed: Number(options.seed), limit: Number(options.limit) });
    return 0;
  }
  const filesMax = Number(options.files);
  if (options.try !== undefined) {
    return await tryOne(root, { number: Number(options.try), filesMax, signal });
  }
  const through = options.through.split(" ").filter((word) => word !== "");
  const planning = ["--in", root, "--plan", "--seed", options.seed, "--limit", options.limit];
  if (options.in === undefined && !runThrough(through, planning)) return 2;
  const isDone = await tryAll(root, await readPlan(root), {
    through,
    filesMax,
    endMs: performance.now() + Number(options.minutes) * 60_000,
    out: options.out,
    signal,
  });
  if (isDone) await rm(root, { recursive: true, force: true });
  else print(`Broken off; to go on: npm run mutants -- --in ${root}`);
  return isDone ? 0 : 130;
}

interface Trials {
  readonly through: readonly string[];
  readonly filesMax: number;
  readonly endMs: number;
  readonly out: string | undefined;
  readonly signal: AbortSignal;
}

/** Tries what was not tried yet, each in a process of its own; true when all of it was. */
async function tryAll(
  root: string,
  plan: Plan,
  { through, filesMax, endMs, out, signal }: Trials,
): Promise<boolean> {
  let verdicts = await readVerdicts(root);
  for (const mutant of plan.mutants) {
    if (verdicts.some(({ number }) => number === mutant.number)) continue;
    if (signal.aborted || performance.now() > endMs) return false;
    const trial = ["--in", root, "--try", String(mutant.number), "--files", String(filesMax)];
    if (!runThrough(through, trial)) return false;
    verdicts = await readVerdicts(root);
    const end = verdicts.find(({ number }) => number === mutant.number)?.by ?? "SURVIVED";
    print(`${mutant.number} of ${plan.mutants.length}  ${nameOf(mutant)}: ${end}`);
    if (out !== undefined) await writeFile(out, report(plan, verdicts));
  }
  print(report(plan, verdicts));
  return true;
}

/** Runs this program with other arguments; true when it ended well. */
function runThrough(through: readonly string[], options: readonly string[]): boolean {
  const words = [...through, process.execPath, MAIN, ...options];
  const [command = process.execPath] = words.splice(0, 1);
  return spawnSync(command, words, { stdio: "inherit" }).status === 0;
}

async function tryOne(
  root: string,
  { number, filesMax, signal }: { number: number; filesMax: number; signal: AbortSignal },
): Promise<number> {
  const mutant = (await readPlan(root)).mutants.find((one) => one.number === number);
  if (mutant === undefined) throw new Error(`Cannot try mutant ${number}: the copy has none`);
  const verdict = await tryMutant({ root, signal }, mutant, filesMax);
  if (signal.aborted) return 130;
  const verdicts = [...(await readVerdicts(root)), verdict];
  await writeFile(join(root, VERDICTS), JSON.stringify(verdicts, null, 2));
  return 0;
}

async function readVerdicts(root: string): Promise<readonly Verdict[]> {
  const text = await readFile(join(root, VERDICTS), "utf8").catch(() => "[]");
  return JSON.parse(text) as Verdict[];
}

process.exit(
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }),
);
