import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { LEDGER_MUTANTS } from "../faults/mutants/ledger-mutants.ts";
import { PIPELINE_MUTANTS } from "../faults/mutants/pipeline-mutants.ts";
import { SIGNING_MUTANTS } from "../faults/mutants/signing-mutants.ts";

// `npm run faults:mutants` takes an hour, so a mutant that the source has moved away from would stay
// unnoticed for long. What it edits, and the suites that try it, are checked here.

const pathOf = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const MUTANTS = [...LEDGER_MUTANTS, ...PIPELINE_MUTANTS, ...SIGNING_MUTANTS];

test.each(MUTANTS)("every edit of '$name' applies exactly once", async ({ edits }) => {
  const texts = new Map<string, string>();
  for (const { file, from, to } of edits) {
    const text = texts.get(file) ?? (await readFile(pathOf(file), "utf8"));
    expect({ file, from, times: text.split(from).length - 1 }).toEqual({ file, from, times: 1 });
    expect(to).not.toBe(from);
    texts.set(
      file,
      text.replace(from, () => to),
    );
  }
});

test("every suite that tries a mutant is there", () => {
  const trials = MUTANTS.flatMap((mutant) => mutant.trials);
  const suites = trials.flatMap((trial) => ("suites" in trial ? trial.suites : []));
  expect(suites.length).toBeGreaterThan(0);
  expect(suites.filter((suite) => !existsSync(pathOf(suite)))).toEqual([]);
});
