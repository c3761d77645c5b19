import { fileURLToPath } from "node:url";
import { columns } from "../print.ts";
import { MUTANTS } from "./mutants.ts";
import { createScratch } from "./scratch.ts";
import { tryMutant, type Verdict } from "./try-mutant.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const HELP = `npm run faults:mutants -- [words of a mutant's name]

Puts classic mistakes into a copy of the repository, one at a time, and demands that each is caught.

${MUTANTS.map(({ name }) => `  ${name}`).join("\n")}
`;

const print = (text: string) => void process.stdout.write(`${text}\n`);

/** Tries every mutant whose name holds the words; gives the exit code. */
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
