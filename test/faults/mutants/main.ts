import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { outputOf } from "../../support/millrace-process.ts";
import { columns } from "../run.ts";
import { type Mutant, MUTANTS, type Trial } from "./mutants.ts";
import { createScratch, type Scratch } from "./scratch.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const HELP = `npm run faults:mutants -- [words of a mutant's name]

Puts classic mistakes into a copy of the repository, one at a time, and demands that each is caught.

${MUTANTS.map(({ name }) => `  ${name}`).join("\n")}
`;

const print = (text: string) => void process.stdout.write(`${text}\n`);

export async function runMutants(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    print(HELP);
    return 0;
  }
  const wanted = MUTANTS.filter(({ name }) => name.includes(args.join(" ")));
  if (wanted.length === 0) throw new Error(`Cannot try "${args.join(" ")}": no such mutant`);
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => interrupted.abort());
  }
  print(`Copying the repository, then ${wanted.length} mutants, a minute or so each`);
  const scratch = await createScratch(REPOSITORY);
  const verdicts: Verdict[] = [];
  try {
    for (const [index, mutant] of wanted.entries()) {
      if (interrupted.signal.aborted) break;
      const verdict = await tryMutant(scratch, mutant, interrupted.signal);
      verdicts.push(verdict);
      print(`${index + 1} of ${wanted.length}  ${line(verdict).join("  ")}`);
    }
  } finally {
    await scratch.remove();
  }
  print(["", ...columns(verdicts.map(line)), ""].join("\n"));
  const caught = verdicts.filter((verdict) => verdict.caught).length;
  print(`${caught} of ${wanted.length} mutants are caught`);
  return caught === wanted.length ? 0 : 1;
}

function line({ caught, seconds, mutant, by }: Verdict): string[] {
  return [caught ? "caught" : "NOT CAUGHT", `${seconds} s`, mutant, by];
}

export interface Verdict {
  readonly mutant: string;
  readonly caught: boolean;
  readonly by: string;
  readonly seconds: number;
}

const TRIAL_MS = 480_000;

export async function tryMutant(
  scratch: Scratch,
  { name, edits, trials }: Mutant,
  signal: AbortSignal,
): Promise<Verdict> {
  const beganMs = performance.now();
  const verdict = (caught: boolean, by: string): Verdict => ({
    ...{ mutant: name, caught, by },
    seconds: Math.round((performance.now() - beganMs) / 1_000),
  });
  let undo: () => Promise<void>;
  try {
    undo = await scratch.apply(edits);
  } catch (error) {
    return verdict(false, error instanceof Error ? error.message : String(error));
  }
  try {
    const built = await node(scratch.root, ["node_modules/typescript/bin/tsc", "-b"], signal);
    if (built.code !== 0) return verdict(false, `it does not build: ${built.output.slice(0, 300)}`);
    await scratch.bundle();
    for (const trial of trials) {
      const { code, output } = await node(scratch.root, commandOf(trial), signal);
      if (signal.aborted) return verdict(false, "broken off");
      if (code !== 0) return judge(trial, output, verdict);
    }
    return verdict(false, "nothing noticed");
  } finally {
    await undo();
  }
}

function commandOf(trial: Trial): readonly string[] {
  return "faults" in trial
    ? [join("test", "faults", "main.mjs"), ...trial.faults]
    : [join("node_modules", "vitest", "vitest.mjs"), "run", "--bail=1", ...trial.suites];
}

function judge(
  trial: Trial,
  output: string,
  verdict: (caught: boolean, by: string) => Verdict,
): Verdict {
  const found = "faults" in trial ? breaches(output) : failures(output);
  if (found.length > 0) return verdict(true, found.join("; "));
  return verdict(false, `the trial itself failed: ${output.trim().slice(-500)}`);
}

function breaches(output: string): string[] {
  const names = [...output.matchAll(/^BREACH (I\d+ [A-Z -]+):/gm)].map(([, name = ""]) => name);
  return [...new Set(names)];
}

function failures(output: string): string[] {
  // oxlint-disable-next-line no-control-regex -- the escapes of colors
  const plain = output.replace(/\u001b\[[0-9;]*m/g, "");
  // A file that could not even begin names no test: it has caught nothing.
  const names = [...plain.matchAll(/^ FAIL {2}(.* > .*)$/gm)].map(([, name = ""]) => name);
  const unique = [...new Set(names)];
  const [first] = unique;
  if (first === undefined) return [];
  return [unique.length === 1 ? first : `${first} and ${unique.length - 1} more`];
}

function node(
  cwd: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      ...{ cwd, stdio: ["ignore", "pipe", "pipe"] },
      env: { ...process.env, FAULTS: "all" },
    });
    const output = outputOf(child);
    const end = () => child.kill("SIGTERM");
    const timer = setTimeout(end, TRIAL_MS);
    signal.addEventListener("abort", end);
    child.on("close", (code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve({ code, output: output() });
    });
  });
}
