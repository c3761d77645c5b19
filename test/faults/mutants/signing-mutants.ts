import type { Mutant } from "./mutant.ts";

const FORGED: Mutant["trials"] = [{ suites: ["test/attacks/forged-jobs.test.ts"] }];

/** Mistakes in what is believed of a job. */
export const SIGNING_MUTANTS: readonly Mutant[] = [
  {
    name: "the MAC of a job is not compared",
    edits: [
      {
        file: "packages/core/src/queue-keys.ts",
        from: "return given.length === own.length && timingSafeEqual(given, own);",
        to: "return given.length === own.length && timingSafeEqual(own, own);",
      },
    ],
    trials: FORGED,
  },
  {
    name: "a failed job is recorded without a look at its MAC",
    edits: [
      {
        file: "packages/operations/src/reconcile/compare.ts",
        from: '  if (mac !== undefined) return found("unrecorded_job_unsigned");\n',
        to: '  if (mac !== undefined && walk.state === "completed") return found("unrecorded_job_unsigned");\n',
      },
      {
        file: "packages/operations/src/reconcile/compare.ts",
        from: '  if (whole.mac !== undefined) return found("unrecorded_job_unsigned");\n',
        to: "",
      },
      {
        file: "packages/operations/src/reconcile/repair.ts",
        from: "job?.event === undefined || job.mac !== undefined) return undefined;",
        to: "job?.event === undefined) return undefined;",
      },
    ],
    trials: FORGED,
  },
  {
    name: "the MAC covers which event it is, and nothing else of it",
    edits: [
      {
        file: "packages/core/src/queue-keys.ts",
        from: '  return createHmac("sha256", key).update(text).digest("base64url");',
        to: `  const { source, id, generation } = JSON.parse(text);
  const identity = JSON.stringify({ source, id, generation });
  return createHmac("sha256", key).update(identity).digest("base64url");`,
      },
    ],
    trials: FORGED,
  },
  {
    name: "a job's type and flags count where the ledger has others",
    edits: [
      {
        file: "packages/ledger/src/claims/admit.ts",
        from: "  if (row.type !== event.type || row.unsigned !== event.unsigned) return undefined;\n",
        to: "",
      },
      {
        file: "packages/processor/src/job/process-event.ts",
        from: "        if (claim.stored !== undefined) {",
        to: "        if (claim.stored !== undefined && claim.attempt === 0) {",
      },
    ],
    trials: FORGED,
  },
];
