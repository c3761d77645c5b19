import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MUTANTS } from "../faults/mutants/mutants.ts";

// `npm run faults:mutants` takes an hour. This finds a mutant that the source has moved away from.

const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));

test("every edit of a mutant applies exactly once, and every suite that tries it is there", async () => {
  const problems: string[] = [];
  for (const { name, edits, trials } of MUTANTS) {
    const texts = new Map<string, string>();
    for (const { file, from, to } of edits) {
      const text = texts.get(file) ?? (await readFile(pathOf(file), "utf8").catch(() => ""));
      const times = text.split(from).length - 1;
      if (times !== 1 || to === from) problems.push(`${name}: ${times} times in ${file}: ${from}`);
      const edited = text.replace(from, () => to);
      texts.set(file, edited);
    }
    const suites = trials.flatMap((trial) => ("suites" in trial ? trial.suites : []));
    const missing = suites.filter((suite) => !existsSync(pathOf(suite)));
    problems.push(...missing.map((suite) => `${name}: no suite ${suite}`));
  }
  expect(problems).toEqual([]);
  expect(MUTANTS.length).toBeGreaterThan(50);
});
