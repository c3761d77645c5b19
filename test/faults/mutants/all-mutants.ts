import { ADMISSION_MUTANTS } from "./admission-mutants.ts";
import { CALL_MUTANTS } from "./call-mutants.ts";
import { EMIT_MUTANTS } from "./emit-mutants.ts";
import { GROUP_MUTANTS } from "./group-mutants.ts";
import { LEDGER_MUTANTS } from "./ledger-mutants.ts";
import { PIPELINE_MUTANTS } from "./pipeline-mutants.ts";
import { REDIS_MUTANTS } from "./redis-mutants.ts";
import { SIGNING_MUTANTS } from "./signing-mutants.ts";

export const MUTANTS = [
  ...LEDGER_MUTANTS,
  ...GROUP_MUTANTS,
  ...CALL_MUTANTS,
  ...PIPELINE_MUTANTS,
  ...ADMISSION_MUTANTS,
  ...SIGNING_MUTANTS,
  ...REDIS_MUTANTS,
  ...EMIT_MUTANTS,
];
