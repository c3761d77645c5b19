import { isMillraceError } from "@millrace/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openForAll } from "../support/open-for.ts";
import {
  operations,
  workersDie,
  type Operation,
  type Side,
  type World,
} from "./model/operations.ts";
import { openRealLedger, type Cut } from "./model/real-ledger.ts";

/** Forty runs of up to forty steps; PROPERTY_MS=600000 goes on for ten minutes instead. */
const RUNS = 40;
const MS = Number(process.env["PROPERTY_MS"] ?? 0);

const real = openForAll(openRealLedger);

type Command = fc.AsyncCommand<World, Side>;

/** Runs an operation, with its connection cut or not, and compares the result with the model's. */
function command(operation: Operation, cut?: Cut): Command {
  return {
    check: (world) => operation.when?.(world) ?? true,
    toString: () => `${operation.title}${cut === undefined ? "" : ` [cut ${cut}]`}`,
    run: async (world, side) => {
      const { answer: expected, write } = operation.step(world);
      const after =
        write === undefined ? world.rows : new Map([...world.rows, [write.key, write.row]]);
      if (cut !== undefined) side.real.arm(cut);
      const answer = await operation.act(world, side).then(plain, (error: unknown) => ({ error }));
      if (cut === undefined || !side.real.disarm()) {
        expect(answer).toEqual(expected);
        operation.taken?.(world, answer);
        world.rows = after;
        expect(await side.real.read(side.prefix)).toEqual(after);
        return;
      }
      side.struck[cut] += 1;
      const { error } = answer as { error?: unknown };
      expect(isMillraceError(error) ? error.code : error).toBe("database_unavailable");
      await side.real.quiet();
      const found = await side.real.read(side.prefix);
      // Without an answer, the ledger is as it was or as it should be, never else.
      expect(cut === "before_commit" ? [world.rows] : [world.rows, after]).toContainEqual(found);
      world.rows = found;
    },
  };
}

/** An answer without what the model does not say: messages, whole identities. */
function plain(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  const names = ["kind", "attempt", "attemptSinceRetry"];
  return Object.fromEntries(Object.entries(answer).filter(([name]) => names.includes(name)));
}

const id = fc.constantFrom("a", "b");
const run = fc.constantFrom("run-1", "run-2");
const n = fc.nat(3);
const cut = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom<Cut[]>("before_commit", "after_commit") },
);
const how = fc.constantFrom("completes" as const, "throws" as const, "is killed" as const);
const no = fc.constant(false);
const failed = fc.oneof(
  fc.record({ final: fc.boolean(), counts: fc.boolean(), waits: no, run }),
  fc.record({ final: no, counts: no, waits: fc.constant(true), run }),
);
const withCut = (operation: fc.Arbitrary<Operation>) =>
  fc.tuple(operation, cut).map((given) => command(...given));
const record = withCut(fc.tuple(id, run).map((given) => operations.record(...given)));

const COMMANDS = [
  withCut(id.map(operations.accept)),
  ...[record, record],
  withCut(fc.tuple(n, how).map((given) => operations.attempt(...given))),
  withCut(fc.tuple(n, failed).map((given) => operations.fail(...given))),
  withCut(fc.tuple(id, run).map((given) => operations.abandonEvent(...given))),
  withCut(id.map(operations.retry)),
  withCut(id.map(operations.replay)),
  withCut(id.map(operations.markEnqueued)),
  fc.constant(command(workersDie)),
];

test(
  "the ledger does what its state machine says, with connections cut and workers dying between any two steps",
  { timeout: MS + 180_000 },
  async () => {
    const struck: Side["struck"] = { before_commit: 0, after_commit: 0, killed: 0 };
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.commands(COMMANDS, { maxCommands: 40, size: "max" }),
        async (commands) => {
          // Each run has events of its own.
          const prefix = `run_${(runs += 1)}_`;
          const model = { rows: new Map(), claims: [] };
          await fc.asyncModelRun(() => ({ model, real: { real, prefix, struck } }), commands);
        },
      ),
      MS === 0 ? { numRuns: RUNS } : { numRuns: 1_000_000_000, interruptAfterTimeLimit: MS },
    );
    process.stdout.write(`ledger model: ${runs} runs, struck ${JSON.stringify(struck)}\n`);
    // A fault that never struck has proved nothing.
    for (const count of Object.values(struck)) expect(count).toBeGreaterThan(0);
  },
);
