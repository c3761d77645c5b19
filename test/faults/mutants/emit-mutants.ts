import type { Mutant } from "./mutant.ts";

const EMITS: Mutant["trials"] = [{ suites: ["test/processor/emit.test.ts"] }];

/** Mistakes in what handlers emit. */
export const EMIT_MUTANTS: readonly Mutant[] = [
  {
    name: "an event is emitted outside the transaction of its parent",
    edits: [
      {
        file: "packages/ledger/src/claims/attempt.ts",
        from: "    const answering = pipeline(connection.client, [\n      ...emitStatements(guard.emittedIfAny?.unwritten ?? [], transactionId),\n",
        to: "    for (const query of emitStatements(guard.emittedIfAny?.unwritten ?? [], null)) await ledger.pool.query(query);\n    const answering = pipeline(connection.client, [\n",
      },
    ],
    trials: EMITS,
  },
  {
    name: "the id of an emitted event is made without its parent's generation",
    edits: [
      {
        file: "packages/processor/src/handler/emit.ts",
        from: "[source, escaped(eventId), generation, escaped(type), part]",
        to: "[source, escaped(eventId), 0 * generation, escaped(type), part]",
      },
    ],
    trials: EMITS,
  },
  {
    name: "an event is noted as enqueued before it is",
    edits: [
      {
        file: "packages/core/src/enqueue-later.ts",
        from: "    // All of them are new to the ledger:",
        to: "    for (const { source, eventId, generation } of events) marks.add({ source, eventId, generation });\n    // All of them are new to the ledger:",
      },
    ],
    trials: [{ suites: ["packages/intake/src/ledger-store.test.ts"] }],
  },
  {
    name: "what was emitted behind a savepoint stays in memory when that is rolled back",
    edits: [
      {
        file: "packages/ledger/src/claims/guard.ts",
        from: "if (kept !== undefined) this.#emits?.keep(kept);",
        to: "if (kept === -1) this.#emits?.keep(kept);",
      },
    ],
    trials: EMITS,
  },
];
