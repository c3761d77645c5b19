import { COUNTS } from "./draw.ts";
import type { Plan, PlannedMutant } from "./plan.ts";
import type { Verdict } from "./try-mutant.ts";

export const nameOf = ({ file, line, operator, was }: PlannedMutant): string =>
  `${file}:${line} ${operator} \`${was.replaceAll("`", "'")}\``;

/** How many died, by workspace, and what became of each, as Markdown. */
export function report({ seed, mutants }: Plan, verdicts: readonly Verdict[]): string {
  const tried = verdicts.flatMap((verdict) => {
    const mutant = mutants.find(({ number }) => number === verdict.number);
    return mutant === undefined ? [] : [{ mutant, by: verdict.by }];
  });
  const died = (of: typeof tried) => of.filter(({ by }) => by !== undefined).length;
  const rows = Object.keys(COUNTS).map((workspace) => {
    const of = tried.filter(({ mutant }) => mutant.file.startsWith(`${workspace}/`));
    return `| ${workspace} | ${of.length} | ${died(of)} |`;
  });
  return [
    "# Random mutants",
    "",
    `Seed ${seed}: ${died(tried)} of ${tried.length} died; ${mutants.length} were drawn.`,
    "",
    "| workspace | tried | died |",
    "| --- | --- | --- |",
    ...rows,
    "",
    ...tried.map(({ mutant, by }) => {
      const end = by === undefined ? `SURVIVED ${mutant.tests.length} test files` : `died: ${by}`;
      return `- ${nameOf(mutant)}: ${end}`;
    }),
    "",
  ].join("\n");
}
