import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ADMISSION_MUTANTS } from "./admission-mutants.ts";
import { CALL_MUTANTS } from "./call-mutants.ts";
import { EMIT_MUTANTS } from "./emit-mutants.ts";
import { GROUP_MUTANTS } from "./group-mutants.ts";
import { LEDGER_MUTANTS } from "./ledger-mutants.ts";
import { PIPELINE_MUTANTS } from "./pipeline-mutants.ts";
import { REDIS_MUTANTS } from "./redis-mutants.ts";
import { SIGNING_MUTANTS } from "./signing-mutants.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test.each([
  ...GROUP_MUTANTS,
  ...CALL_MUTANTS,
  ...LEDGER_MUTANTS,
  ...PIPELINE_MUTANTS,
  ...ADMISSION_MUTANTS,
  ...SIGNING_MUTANTS,
  ...REDIS_MUTANTS,
  ...EMIT_MUTANTS,
])("$name: each of its texts stands in its file exactly once", ({ edits }) => {
  for (const { file, from } of edits) {
    expect([file, readFileSync(ROOT + file, "utf8").split(from).length - 1]).toEqual([file, 1]);
  }
});
