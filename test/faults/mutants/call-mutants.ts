import { run, type Mutant } from "./mutant.ts";

const LEDGER = "packages/ledger/src";
const PROCESSOR = "packages/processor/src";

/** Mistakes in the calls that an attempt makes before its transaction. */
export const CALL_MUTANTS: readonly Mutant[] = [
  {
    name: "a step is recorded without the guard",
    edits: [
      {
        file: `${LEDGER}/claims/calls.ts`,
        from: '    AND ${IS_PENDING("e")} AND e.attempts = :attempt`;\n',
        to: '    AND (${IS_PENDING("e")} OR e.attempts >= :attempt)`;\n',
      },
    ],
    trials: [{ suites: ["test/ledger/steps.test.ts", "test/processor/step-crashes.test.ts"] }],
  },
  {
    name: "a step is recorded without a lock on its event's row",
    edits: [{ file: `${LEDGER}/claims/calls.ts`, from: "  FOR SHARE OF e\n", to: "" }],
    trials: [{ suites: ["test/ledger/steps.test.ts"] }],
  },
  {
    name: "a call is made while the row is locked",
    edits: [
      {
        file: `${PROCESSOR}/handler/make-calls.ts`,
        from: "  const calls = await makeCalls(job, claim, conditions, deps);\n",
        to: `  let calls = { kind: "lost", handlerMs: undefined } as CallsOrEnd;
  const work = async () => {
    calls = await makeCalls(job, claim, conditions, deps);
    throw new Error("undone");
  };
  const limits = { statementTimeoutMs: 60_000, signal: conditions.stop };
  await deps.ledger.attempt(job.event, claim.attempt, work, limits).catch(() => {});
`,
      },
    ],
    trials: [{ suites: ["test/processor/calls.test.ts"] }],
  },
  {
    name: "a call is made before its attempt is counted",
    edits: [
      {
        file: `${PROCESSOR}/job/process-event.ts`,
        from: "      const claim = await this.#claim();\n      if (claim.kind",
        to: `      const context = this.#context;
      const early = { ...FIRST_CLAIM, isNew: true } as const;
      const conditions = { stop: this.#stop, bodyDedup: false, release: () => {} };
      if (this.#hasCalls()) await callThenWrite(this.#job, early, conditions, context);
      const claim = await this.#claim();
      if (claim.kind`,
      },
    ],
    trials: [{ suites: ["test/processor/calls.test.ts"] }],
  },
  {
    name: "whether an event is a replay is decided and not committed",
    edits: [
      {
        file: `${LEDGER}/claims/suspect-replay.ts`,
        from: "UPDATE millrace.events e SET original = true WHERE",
        to: "UPDATE millrace.events e SET original = NULL WHERE",
      },
    ],
    trials: [{ suites: ["test/processor/suspected-replays.test.ts"] }],
  },
  {
    name: "a later attempt runs recorded steps again",
    edits: [
      {
        file: `${PROCESSOR}/handler/steps.ts`,
        from: "    if (known !== undefined) return fromText(known);\n",
        to: "    if (known !== undefined && this.isLost) return fromText(known);\n",
      },
    ],
    trials: [run("redis", "queue", "F3/worker.step_recorded")],
  },
  {
    name: "the key of a step is another one in each attempt",
    edits: [
      {
        file: `${PROCESSOR}/handler/make-calls.ts`,
        from: "    const steps = new Steps({ recorded, idempotencyKey, record:",
        to: "    const steps = new Steps({ recorded, idempotencyKey: `${idempotencyKey}.${attempt}`, record:",
      },
    ],
    trials: [run("postgres", "ledger", "F6/call")],
  },
];
