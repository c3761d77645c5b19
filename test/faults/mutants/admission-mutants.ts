import type { Mutant } from "./mutant.ts";

const BUDGET = "packages/intake/src/byte-budget.ts";
const BUDGETED: Mutant["trials"] = [{ suites: ["packages/intake/src/byte-budget.test.ts"] }];

/** Mistakes in what a stranger may spend before a signature can be checked. */
export const ADMISSION_MUTANTS: readonly Mutant[] = [
  {
    name: "one of several sources may take the whole byte budget",
    edits: [
      {
        file: BUDGET,
        from: "const part = bodyBytesMax.size > 1 ? 2 : 1;",
        to: "const part = bodyBytesMax.size > 0 ? 1 : 2;",
      },
    ],
    trials: BUDGETED,
  },
  {
    name: "large bodies leave nothing to small ones",
    edits: [
      {
        file: BUDGET,
        from: "{ share, total: largeMax, undisturbedMs",
        to: "{ share: bytesMax, total: bytesMax, undisturbedMs",
      },
    ],
    trials: BUDGETED,
  },
  {
    name: "a body that is held back never gives way",
    edits: [
      {
        file: BUDGET,
        from: "if (candidate === undefined || candidate === taker) return shortage;",
        to: "if (candidate === undefined || candidate === taker || candidate.startedMs > 0) return shortage;",
      },
    ],
    trials: BUDGETED,
  },
  {
    name: "above connectionsMax the new connection is closed, whoever has the others",
    edits: [
      {
        file: "apps/ingress/src/open-connections.ts",
        from: "if (oldest === undefined || oldest === newest) break;",
        to: "if (oldest === undefined || newest !== undefined) break;",
      },
    ],
    trials: [{ suites: ["apps/ingress/src/open-connections.test.ts"] }],
  },
  {
    name: "a body is charged for its bytes and not for its buffer",
    edits: [
      {
        file: "packages/intake/src/incoming-body.ts",
        from: "if (!this.#takeUpTo(capacity)) return false;",
        to: "if (!this.#takeUpTo(size)) return false;",
      },
    ],
    trials: [{ suites: ["packages/intake/src/incoming-body.test.ts"] }],
  },
  {
    name: "a head is refused for a time that is in tolerance when its body has come",
    edits: [
      {
        file: "packages/providers/src/signature/signature-scheme.ts",
        from: "return checkAge(tsMs, nowMs, toleranceMs);",
        to: "return checkAge(tsMs, Math.min(nowMs, head.receivedAtMs), toleranceMs);",
      },
    ],
    trials: [{ suites: ["packages/providers/src/precheck.test.ts"] }],
  },
];
