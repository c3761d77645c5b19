import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { MUTANTS } from "./all-mutants.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test.each(MUTANTS)("$name: each of its texts stands in its file exactly once", ({ edits }) => {
  for (const { file, from } of edits) {
    expect([file, readFileSync(ROOT + file, "utf8").split(from).length - 1]).toEqual([file, 1]);
  }
});
