import { run, type Mutant } from "./mutant.ts";

const LEDGER = "packages/ledger/src";
const PROCESSOR = "packages/processor/src";

const GROUPS: Mutant["trials"] = [
  { suites: ["test/processor/groups.test.ts", "test/processor/set-handlers.test.ts"] },
];

/** Mistakes in how first attempts of events share a transaction. */
export const GROUP_MUTANTS: readonly Mutant[] = [
  {
    name: "a group takes no lock on its events",
    edits: [
      {
        file: `${LEDGER}/claims/admit.ts`,
        from: '${IDENTITY_LOCK(":source::text", "i.event_id")} AS is_mine',
        to: "true AS is_mine",
      },
    ],
    trials: GROUPS,
  },
  {
    name: "a group completes what another worker has recorded meanwhile",
    edits: [
      {
        file: `${LEDGER}/claims/complete-first.ts`,
        from: "  ORDER BY event_id\n  RETURNING true",
        to: "  ORDER BY event_id\n  ON CONFLICT DO NOTHING\n  RETURNING true",
      },
      {
        file: `${LEDGER}/claims/complete-first.ts`,
        from: "(SELECT count(*) FROM inserted) = cardinality",
        to: "(SELECT count(*) FROM inserted) <= cardinality",
      },
    ],
    trials: GROUPS,
  },
  {
    name: "what an event that failed in a group has written stays",
    edits: [
      {
        file: `${LEDGER}/claims/group-runs.ts`,
        from: "      await this.#connection.client.query(`ROLLBACK TO SAVEPOINT ${savepoint}`);\n",
        to: "      if (this.#connection.broken) throw new Error(savepoint);\n",
      },
    ],
    trials: [...GROUPS, run("redis", "queue", "F27/killed at worker.group_ran")],
  },
  {
    name: "the jobs of a group are finished before its COMMIT",
    edits: [
      {
        file: `${LEDGER}/claims/attempt-group.ts`,
        from: "  readonly #sentMore = new Set<GroupUnit>();\n",
        to: "  readonly #sentMore = new Set<GroupUnit>();\n  committing = Promise.resolve();\n",
      },
      {
        file: `${LEDGER}/claims/attempt-group.ts`,
        from: "    await this.#complete(transactionId, isAlive);\n",
        to: `    this.committing = this.#complete(transactionId, isAlive);
    for (const [member, { outcome }] of this.#finished) {
      this.#ends.set(member, { kind: "completed", outcome });
    }
`,
      },
      {
        file: `${LEDGER}/claims/attempt-group.ts`,
        from: "    clearTimeout(timer);\n    group.close();\n    releaseHandlers(ledger, connection, source);\n",
        to: `    void group.committing.finally(() => {
      clearTimeout(timer);
      group.close();
      releaseHandlers(ledger, connection, source);
    });
`,
      },
    ],
    trials: [...GROUPS, run("redis", "queue", "F27,F15/before", 0.5)],
  },
  {
    name: "an event that failed in a group is completed with it",
    edits: [
      {
        file: `${LEDGER}/claims/attempt-group.ts`,
        from: "      } else this.#end(admitted, end);\n",
        to: `      } else {
        this.#end(admitted, end);
        for (const { member, event, isWaiting } of end.kind === "failed" ? admitted : []) {
          const { bodyDedup } = member;
          const run = { event, isWaiting, outcome: "handled", ranMs: 0, bodyDedup, recorded: 0 } as const;
          this.#finished.set(member, run);
        }
      }
`,
      },
    ],
    trials: [...GROUPS, run("redis", "queue", "F27/killed at worker.group_ran")],
  },
  {
    name: "a group that does not suit its type never shrinks",
    edits: [
      {
        file: `${PROCESSOR}/groups/group-size.ts`,
        from: "    this.#size = Math.max(1, Math.floor(this.#size / 2));\n",
        to: "    this.#size = Math.max(1, this.#size);\n",
      },
    ],
    trials: [{ suites: ["packages/processor/src/groups/group-size.test.ts"] }],
  },
  {
    name: "a SET LOCAL in a group reaches the next event",
    edits: [
      {
        file: `${LEDGER}/claims/guard.ts`,
        from: "if (this.#shared !== undefined && (reachesPastSavepoint || this.#endsForeign(kind, text))) {",
        to: "if (this.#shared !== undefined && this.#endsForeign(kind, text)) {",
      },
    ],
    trials: GROUPS,
  },
  {
    name: "a job that comes again is taken for one that nobody has begun",
    edits: [
      {
        file: "packages/queue/src/process-job.ts",
        from: "const startedBefore = job.attemptsStarted !== 1 || job.stalledCounter > 0;",
        to: "const startedBefore = job.attemptsStarted < 1;",
      },
    ],
    trials: [{ suites: ["test/contracts/queue.test.ts"] }],
  },
  {
    name: "a run that was undone with its group is not counted",
    edits: [
      {
        file: `${PROCESSOR}/job/process-event.ts`,
        from: "    if (first?.ran === true) this.#job",
        to: "    if (first?.ran === false) this.#job",
      },
    ],
    trials: GROUPS,
  },
];
