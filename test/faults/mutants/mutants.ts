import { readdirSync, readFileSync } from "node:fs";

export interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export type Trial = { readonly faults: readonly string[] } | { readonly suites: readonly string[] };

export interface Mutant {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly trials: readonly Trial[];
}

export const MUTANTS: readonly Mutant[] = readdirSync(new URL(".", import.meta.url))
  .filter((name) => name.endsWith(".txt"))
  .flatMap((name) =>
    readFileSync(new URL(name, import.meta.url), "utf8")
      .trimEnd()
      .split("\n\n"),
  )
  .map(readMutant);

function readMutant(text: string): Mutant {
  const edits: { file: string; from: string[]; to: string[] }[] = [];
  const trials: Trial[] = [];
  let name = "";
  for (const line of text.split("\n")) {
    const rest = line.slice(line.indexOf(" ") + 1);
    const edit = edits.at(-1);
    if (line.startsWith("# ")) name = rest;
    else if (line.startsWith("= ")) edits.push({ file: rest, from: [], to: [] });
    else if (line === "~") edits.push({ file: edit?.file ?? "", from: [], to: [] });
    else if (line.startsWith("- ")) edit?.from.push(rest);
    else if (line.startsWith("+ ")) edit?.to.push(rest);
    else if (line.startsWith("suites ")) trials.push({ suites: rest.split(" ") });
    else if (line.startsWith("faults ")) trials.push({ faults: argumentsOf(rest.split(" ")) });
    else throw new Error(`Cannot read the mutant "${name}": ${line}`);
  }
  const join = (lines: readonly string[]) => lines.join("\n");
  return { name, trials, edits: edits.map((e) => ({ ...e, from: join(e.from), to: join(e.to) })) };
}

function argumentsOf([backend = "", ack = "", minutes = "", ...only]: readonly string[]) {
  const where = ["--backend", backend, "--ack", ack, "--only", only.join(" ")];
  return [...where, "--minutes", minutes, "--seed", "11", "--rate", "80", "--drain", "30"];
}
