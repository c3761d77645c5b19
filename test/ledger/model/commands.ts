import { isMillraceError } from "@millrace/core";
import fc from "fast-check";
import { expect } from "vitest";
import type { ModelRows, Step } from "./event-model.ts";
import { operations, workersDie, type Operation, type Side, type World } from "./operations.ts";
import type { Cut } from "./real-ledger.ts";

type Command = fc.AsyncCommand<World, Side>;

const FIELDS = ["kind", "attempt", "attemptSinceRetry"];

/** Runs an operation, with its connection cut or not, and holds what became of it against the model. */
function command(operation: Operation, cut: Cut | undefined): Command {
  return {
    check: (world) => operation.when?.(world) ?? true,
    toString: () => `${operation.title}${cut === undefined ? "" : ` [cut ${cut}]`}`,
    run: async (world, side) => {
      const step = operation.step(world);
      const after = applied(world.rows, step);
      if (cut !== undefined) side.real.arm(cut);
      const answer = await operation.act(world, side).then(plain, (error: unknown) => ({ error }));
      const struck = cut !== undefined && side.real.disarm();
      if (!struck) {
        expect(answer).toEqual(step.answer);
        operation.taken?.(world, answer);
        world.rows = after;
        expect(await side.real.read(side.prefix)).toEqual(after);
        return;
      }
      side.struck[cut] += 1;
      expect(codeOf(answer)).toBe("database_unavailable");
      await side.real.quiet();
      const found = await side.real.read(side.prefix);
      // Whoever lost the answer knows nothing; the ledger is as it was or as it should be, never else.
      const became = cut === "before_commit" ? [world.rows] : [world.rows, after];
      expect(became).toContainEqual(found);
      world.rows = found;
    },
  };
}

function applied(rows: ModelRows, { write }: Step): ModelRows {
  return write === undefined ? rows : new Map([...rows, [write.key, write.row]]);
}

const codeOf = (answer: unknown) => {
  const { error } = answer as { error?: unknown };
  return isMillraceError(error) ? error.code : error;
};

/** An answer without what the model has no opinion on: messages, whole identities. */
function plain(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([name]) => FIELDS.includes(name)));
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

/** Every operation of the ledger that changes a row, on two events, with cuts. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.tuple(id, cut).map(([i, c]) => command(operations.accept(i), c)),
  fc.tuple(id, run, cut).map(([i, r, c]) => command(operations.record(i, r), c)),
  fc.tuple(id, run, cut).map(([i, r, c]) => command(operations.record(i, r), c)),
  fc.tuple(n, how, cut).map(([at, h, c]) => command(operations.attempt(at, h), c)),
  fc.tuple(n, failed, cut).map(([at, f, c]) => command(operations.fail(at, f), c)),
  fc.tuple(id, run, cut).map(([i, r, c]) => command(operations.abandonEvent(i, r), c)),
  fc.tuple(id, cut).map(([i, c]) => command(operations.retry(i), c)),
  fc.tuple(id, cut).map(([i, c]) => command(operations.replay(i), c)),
  fc.tuple(id, cut).map(([i, c]) => command(operations.markEnqueued(i), c)),
  fc.constant(command(workersDie, undefined)),
];
