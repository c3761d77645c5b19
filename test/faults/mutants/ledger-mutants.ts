import { run, type Mutant } from "./mutant.ts";

const LEDGER = "packages/ledger/src";

/** Mistakes in what the ledger promises. */
export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    name: "lead by session lock through a pooler",
    edits: [
      {
        file: `${LEDGER}/repair/leader.ts`,
        from: "    const { rowCount } = await runStatement(this.#pool, { text: TAKE, values }, TIMES);\n",
        to: `    void [TAKE, values];
    const { rowCount } = await this.#pool.query(
      "SELECT WHERE pg_try_advisory_lock(hashtextextended('millrace.leader.' || $1, 0))",
      [this.#name],
    );
`,
      },
    ],
    trials: [{ suites: ["test/servers/pooler.test.ts"] }],
  },
  {
    name: "the event is marked before the work",
    edits: [
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: "    const { guard, outcome } = await runGuarded(\n",
        to: `    await connection.client.query(
      "UPDATE millrace.events SET status = 'completed', outcome = 'handled', processed_at = now() WHERE source = $1 AND event_id = $2 AND generation = $3",
      [claim.key.source, claim.key.eventId, claim.key.generation],
    );
    await connection.client.query("COMMIT");
    await connection.client.query("BEGIN");
    const { guard, outcome } = await runGuarded(
`,
      },
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: "    await settle(ledger, connection, { claim, outcome, locked, guard });",
        to: '    void [settle, guard, outcome];\n    requireCommitted(await connection.client.query("COMMIT"));',
      },
    ],
    trials: [run("redis", "queue", "F2")],
  },
  {
    name: "FOR UPDATE on a row that is not there, and no unique key behind it",
    edits: [
      {
        file: "packages/ledger/migrations/0001_ledger.sql",
        from: '  fingerprint text COLLATE "C",\n  PRIMARY KEY (source, event_id, generation),',
        to: '  fingerprint text COLLATE "C",',
      },
    ],
    trials: [run("redis", "ledger", "F20/500"), { suites: ["test/ledger/accept.test.ts"] }],
  },
  {
    name: "a late failure is written without a guard",
    edits: [
      {
        file: `${LEDGER}/claims/fail.ts`,
        from: "  FROM mine WHERE status = 'pending' AND NOT is_unlogged\n",
        to: "  FROM mine WHERE NOT is_unlogged\n",
      },
      {
        file: "packages/ledger/migrations/0001_ledger.sql",
        from: "  CHECK ((status = 'completed') = (outcome IS NOT NULL)),\n",
        to: "",
      },
      {
        file: "packages/ledger/migrations/0001_ledger.sql",
        from: "    OLD.status = 'completed'\n    OR (OLD.status = 'failed'",
        to: "    (OLD.status = 'failed'",
      },
    ],
    trials: [
      run("redis", "queue", "F15/after", 0.3),
      { suites: ["test/ledger/lost-answers.test.ts"] },
    ],
  },
  {
    name: "no attempts fence",
    edits: [
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: 'AND ${IS_PENDING("e")} AND e.attempts = :attempt',
        to: 'AND ${IS_PENDING("e")} AND :attempt::int IS NOT NULL',
      },
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: "AND status = 'pending' AND attempts = :attempt",
        to: "AND status = 'pending' AND :attempt::int IS NOT NULL",
      },
    ],
    trials: [
      run("redis", "queue", "F5/worker.recorded", 0.4),
      { suites: ["test/processor/races.test.ts"] },
    ],
  },
  {
    name: "drizzle's own database in place of its transaction, and its BEGIN and COMMIT with it",
    edits: [
      {
        file: `${LEDGER}/claims/guard.ts`,
        from: "  return new NodePgTransaction(dialect, session, tables);",
        to: "  void [session, NodePgTransaction];\n  return drizzle(client as never) as never;",
      },
      {
        file: `${LEDGER}/claims/guard.ts`,
        from: "import { NodePgSession, NodePgTransaction }",
        to: "import { drizzle, NodePgSession, NodePgTransaction }",
      },
      {
        file: `${LEDGER}/claims/guard.ts`,
        from: '    if (kind === "control") {',
        to: '    if (kind === "control" && this.refusal !== undefined) {',
      },
    ],
    trials: [{ suites: ["test/ledger/sealed-transaction.test.ts"] }],
  },
  {
    name: "a transaction that is not sealed",
    edits: [
      {
        file: `${LEDGER}/claims/guard.ts`,
        from: "    this.#isSealed = true;",
        to: "    this.#isSealed = false;",
      },
    ],
    trials: [{ suites: ["test/ledger/sealed-transaction.test.ts"] }],
  },
  {
    name: "a COMMIT that answered ROLLBACK is taken for done",
    edits: [
      {
        file: `${LEDGER}/connection/transaction.ts`,
        from: '  if (commit?.command === "COMMIT") return;',
        to: '  if (commit?.command !== "") return;',
      },
    ],
    trials: [
      {
        suites: [
          "test/ledger/faults.test.ts",
          "test/ledger/sealed-transaction.test.ts",
        ],
      },
    ],
  },
  {
    name: "what a handler left on its connection is not removed",
    edits: [
      {
        file: `${LEDGER}/connection/connection.ts`,
        from: "  return connection.isTouched ? new TransactionEnd(connection, ending) : { text: ending };",
        to: "  connection.isTouched = false;\n  return { text: ending };",
      },
    ],
    trials: [
      { suites: ["test/ledger/clean-connections.test.ts"] },
      { suites: ["test/attacks/clean-connections.test.ts"] },
    ],
  },
  {
    name: "what a handler left on its connection is removed by a message of its own",
    edits: [
      {
        file: `${LEDGER}/connection/connection.ts`,
        from: `    const isChecking = ending === "COMMIT" && checksFirst(kind);
    super(\`\${isChecking ? \`\${CHECK}; \` : ""}\${ending}; \${CLEANINGS[kind]}\`);`,
        to: "    const isChecking = false;\n    super(ending);",
      },
      {
        file: `${LEDGER}/connection/connection.ts`,
        from: "    this.#connection.isTouched = false;\n    this.#learn();",
        to: `    this.#connection.isTouched = false;
    void this.#connection.client.query(CLEANINGS.unprepared).catch(() => {});`,
      },
    ],
    trials: [{ suites: ["test/servers/pooled-connections.test.ts"] }],
  },
  {
    name: "an event is completed in another transaction than its handler's",
    edits: [
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: "    AND pg_current_xact_id() = :transactionId::xid8\n",
        to: "",
      },
      {
        file: `${LEDGER}/claims/attempt.ts`,
        from: "  WHEN EXISTS (SELECT FROM settled) THEN true\n  WHEN pg_current_xact_id() <> :transactionId::xid8 THEN",
        to: "  WHEN EXISTS (SELECT FROM settled) THEN true\n  WHEN :transactionId::xid8 IS NULL THEN",
      },
    ],
    trials: [{ suites: ["test/ledger/sealed-transaction.test.ts"] }],
  },
  {
    name: "the ledger accepts without ON CONFLICT",
    edits: [
      {
        file: `${LEDGER}/claims/event-batch.ts`,
        from: "  ON CONFLICT DO NOTHING\n",
        to: "",
      },
    ],
    trials: [{ suites: ["test/ledger/accept.test.ts", "test/ledger/record.test.ts"] }],
  },
  {
    name: "retention deletes failed events",
    edits: [
      {
        file: `${LEDGER}/retention/delete-keys.ts`,
        from: "(other.status <> 'completed' OR ",
        to: "(",
      },
    ],
    trials: [{ suites: ["test/ledger/retention-keys.test.ts"] }],
  },
];
