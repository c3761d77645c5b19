import fc from "fast-check";
import { expect, test } from "vitest";
import { COMMANDS } from "./model/commands.ts";
import type { Side } from "./model/operations.ts";
import { openRealLedger } from "./model/real-ledger.ts";
import { openForAll } from "../support/open-for.ts";

/** Forty runs of up to forty steps; PROPERTY_MS=600000 goes on for ten minutes instead. */
const RUNS = 40;
const MS = Number(process.env["PROPERTY_MS"] ?? 0);

const real = openForAll(openRealLedger);

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
          const world = { rows: new Map(), claims: [] };
          await fc.asyncModelRun(
            () => ({ model: world, real: { real, prefix, struck } }),
            commands,
          );
        },
      ),
      MS === 0 ? { numRuns: RUNS } : { numRuns: 1_000_000_000, interruptAfterTimeLimit: MS },
    );
    process.stdout.write(`ledger model: ${runs} runs, struck ${JSON.stringify(struck)}\n`);
    // A fault that never struck has proved nothing.
    for (const count of Object.values(struck)) expect(count).toBeGreaterThan(0);
  },
);
