import { keyOf } from "../load/client-log.ts";
import { generationOf, type Evidence, type Generation } from "./evidence.ts";
import type { Finding } from "./finding.ts";

/** I2: every row, every effect and every start of a handler has a genuine delivery, or a replay. */
export function checkUnexpected(evidence: Evidence): Finding[] {
  const { rows, effects, starts } = evidence;
  const seen = new Map(
    [...rows, ...effects, ...starts].map((row) => [generationOf(row), row] as const),
  );
  return [...seen.values()]
    .filter((row) => !isExpected(row, evidence))
    .map((row) => ({
      invariant: "I2 UNEXPECTED",
      text: `${generationOf(row)} was never delivered or asked for`,
    }));
}

function isExpected(row: Generation, { log, stage }: Evidence): boolean {
  const account = log.accounts.get(keyOf(row));
  if (account === undefined || account.event.forged === true) return false;
  return row.generation <= (stage.replays.get(keyOf(row)) ?? 0);
}
