import type { Evidence } from "./evidence.ts";
import { checkAgreement } from "./agreement.ts";
import { checkAlive } from "./alive.ts";
import { checkAnswered } from "./answered.ts";
import type { Check, Finding } from "./finding.ts";
import { checkFootprints } from "./footprints.ts";
import { checkIsolation } from "./isolation.ts";
import { checkLeaks } from "./leaks.ts";
import { checkLost } from "./lost.ts";
import { checkMonotone } from "./monotone.ts";
import { checkOnce } from "./once.ts";
import { checkOutcome } from "./outcome.ts";
import { checkSecrets } from "./secrets.ts";
import { checkStarts, countReruns } from "./starts.ts";
import { checkUnexpected } from "./unexpected.ts";

const CHECKS: readonly Check[] = [
  checkLost,
  checkOutcome,
  checkUnexpected,
  checkOnce,
  checkMonotone,
  checkAgreement,
  checkAnswered,
  checkAlive,
  checkIsolation,
  checkLeaks,
  checkFootprints,
  checkSecrets,
  checkStarts,
];

/** The numbers of a run, as total-queue does it: what went in, what came out, what is left over. */
export interface Totals {
  readonly events: number;
  readonly attempts: number;
  readonly acknowledged: number;
  readonly completed: number;
  readonly failed: number;
  readonly effects: number;
  readonly lost: number;
  readonly doubled: number;
  readonly invented: number;
  readonly unanswered: number;
  /** Lost because a fault destroyed the only place that had them, and said so. */
  readonly excused: number;
  /** Settled, though every answer to their senders was lost: Jepsen's "recovered". */
  readonly recovered: number;
  /** Runs of handlers that came to nothing through a fault. */
  readonly reruns: number;
  readonly slowestMs: number;
}

export async function check(evidence: Evidence): Promise<readonly Finding[]> {
  const found = await Promise.all(CHECKS.map(async (one) => await one(evidence)));
  return found.flat();
}

export function totalsOf(evidence: Evidence, findings: readonly Finding[]): Totals {
  const { log, rows, effects, stage } = evidence;
  const accounts = [...log.accounts.values()];
  const known = new Set(rows.map(({ source, id }) => `${source}/${id}`));
  const count = (invariant: string) =>
    findings.filter((finding) => finding.invariant === invariant).length;
  return {
    events: accounts.filter(({ event }) => event.forged !== true).length,
    attempts: log.attempts,
    acknowledged: accounts.filter(({ acknowledged }) => acknowledged > 0).length,
    completed: rows.filter(({ status }) => status === "completed").length,
    failed: rows.filter(({ status }) => status === "failed").length,
    effects: effects.length,
    lost: count("I1 LOST"),
    doubled: count("I3 ONCE"),
    invented: count("I2 UNEXPECTED"),
    unanswered: count("I7 FAIL-FAST"),
    excused: [...stage.excused].filter((key) => !known.has(key) && isOwed(evidence, key)).length,
    recovered: accounts.filter(
      ({ event, acknowledged }) => acknowledged === 0 && known.has(`${event.source}/${event.id}`),
    ).length,
    reruns: countReruns(evidence),
    slowestMs: Math.round(log.slowestMs),
  };
}

function isOwed({ log }: Evidence, key: string): boolean {
  return (log.accounts.get(key)?.acknowledged ?? 0) > 0;
}
