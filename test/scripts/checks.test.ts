import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MUTANTS } from "../faults/mutants/mutants.ts";

test("the mutants: every edit applies exactly once, and every suite that tries them is there", () => {
  const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
  const problems: string[] = [];
  for (const { name, edits, trials } of MUTANTS) {
    const texts = new Map<string, string>();
    for (const { file, from, to } of edits) {
      const text = texts.get(file) ?? readFileSync(pathOf(file), "utf8");
      const times = text.split(from).length - 1;
      if (times !== 1 || to === from) problems.push(`${name}: ${times} times in ${file}: ${from}`);
      texts.set(
        file,
        text.replace(from, () => to),
      );
    }
    const suites = trials.flatMap((trial) => ("suites" in trial ? trial.suites : []));
    const missing = suites.filter((suite) => !existsSync(pathOf(suite)));
    problems.push(...missing.map((suite) => `${name}: no suite ${suite}`));
  }
  expect(problems).toEqual([]);
  expect(MUTANTS.length).toBeGreaterThan(50);
});
