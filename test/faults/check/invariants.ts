import {
  checkEmitted,
  checkLost,
  checkMonotone,
  checkOnce,
  checkOutcome,
  checkStarts,
  checkUnexpected,
  countReruns,
} from "./events.ts";
import type { Check, Evidence, Finding } from "./evidence.ts";
import { checkAlive, checkFootprints, checkLeaks } from "./processes.ts";
import { checkSteps } from "./steps.ts";
import { checkAgreement, checkSecrets } from "./stores.ts";
import { checkAnswered, checkIsolation } from "./timing.ts";

const CHECKS: readonly Check[] = [
  checkLost,
  checkOutcome,
  checkUnexpected,
  checkOnce,
  checkMonotone,
  checkEmitted,
  checkSteps,
  checkAgreement,
  checkAnswered,
  checkAlive,
  checkIsolation,
  checkLeaks,
  checkFootprints,
  checkSecrets,
  checkStarts,
];

export async function check(evidence: Evidence): Promise<readonly Finding[]> {
  const found = await Promise.all(CHECKS.map(async (one) => await one(evidence)));
  return found.flat();
}

export function totalsOf(evidence: Evidence, findings: readonly Finding[]) {
  const { log, rows, effects, emitted, steps, calls, environment } = evidence;
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
    emitted: emitted.length,
    steps: steps.length,
    calls: calls.length,
    lost: count("I1 LOST"),
    doubled: count("I3 ONCE"),
    invented: count("I2 UNEXPECTED"),
    unanswered: count("I7 FAIL-FAST"),
    excused: [...environment.excused].filter((key) => !known.has(key) && isOwed(evidence, key))
      .length,
    withoutBody: rows.filter(({ status, code }) => status === "failed" && code === "body_lost")
      .length,
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
