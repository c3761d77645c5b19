import { expect, test } from "vitest";
import { migratedDatabase } from "../support/scratch-database.ts";
import { runFuzz } from "./run.ts";

/** Always the same; `npm run fuzz` draws another seed, and runs for as long as it is asked to. */
const SEED = 20_261_121;
const CASES = 2_000;

test("what no sender should send leaves the ingress as it was, and is not accepted", async () => {
  const { url, drop } = await migratedDatabase();
  try {
    // The machine runs other suites beside it.
    const options = { seed: SEED, length: { cases: CASES }, limitMs: 15_000 };
    const report = await runFuzz(url, options);
    process.stdout.write(
      `fuzz: seed ${SEED}, ${report.cases} cases, ${report.accepted} accepted\n`,
    );
    expect(report.findings).toEqual([]);
    expect(report.accepted).toBeGreaterThan(50);
    expect(report.answers[401]).toBeGreaterThan(50);
    expect(report.answers[400]).toBeGreaterThan(50);
  } finally {
    await drop();
  }
});
