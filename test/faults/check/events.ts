import { keyOf } from "../load/client-log.ts";
import type { PlannedEvent } from "../load/plan.ts";
import {
  generationOf,
  type EffectRow,
  type Evidence,
  type Finding,
  type Generation,
  type LedgerRow,
  type StartRow,
} from "./evidence.ts";

/** I1: every event that was answered 2xx is completed or failed. */
export function checkLost({ log, rows, environment }: Evidence): Finding[] {
  const settled = new Set(rows.filter(({ status }) => status !== "pending").map(keyOf));
  return [...log.accounts]
    .filter(([key, { acknowledged }]) => acknowledged > 0 && !settled.has(key))
    .filter(([key]) => !environment.excused.has(key))
    .map(([key]) => ({ invariant: "I1 LOST", text: `${key} was acknowledged and is not settled` }));
}

/**
 * I1, further: what was sure to succeed in the end is completed and not given up, and what never can is
 * failed. Of `frail` events nobody can say, as attempts that die with their workers count for them. A Postgres that was
 * put back has lost the bodies of events that it had taken first, or that had failed before: a recorded failure takes the
 * body out of the job. And it has lost replays, which begin there.
 */
export function checkOutcome({ rows, log, environment }: Evidence): Finding[] {
  return rows.flatMap((row) => {
    const event = log.accounts.get(keyOf(row))?.event;
    if (event === undefined || row.status === "pending") return [];
    const isLost = row.code === "body_lost" || row.code === "replay_lost";
    if (isLost && row.status === "failed" && environment.undone.has(keyOf(row))) return [];
    const expected = expectedStatus(event);
    if (expected === undefined || expected === row.status) return [];
    return [{ invariant: "I1 OUTCOME", text: `${keyOf(row)} is ${row.status}, not ${expected}` }];
  });
}

function expectedStatus({ type, plan, source }: PlannedEvent): "completed" | "failed" | undefined {
  if (type === "test.nobody") return "completed";
  if (plan.permanent === true) return "failed";
  return source === "frail" ? undefined : "completed";
}

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

function isExpected(row: Generation, { log, environment }: Evidence): boolean {
  if (row.generation > (environment.replays.get(keyOf(row)) ?? 0)) return false;
  if (row.source === RELAY) return true;
  const account = log.accounts.get(keyOf(row));
  return account !== undefined && account.event.forged !== true;
}

export const RELAY = "relay";

/** I13: each generation that was completed by handlers that emit has one emitted event, and there is no other. */
export function checkEmitted({ rows, emitted, log, environment }: Evidence): Finding[] {
  const children = new Map<string, number>();
  for (const { parent } of emitted) {
    children.set(generationOf(parent), (children.get(generationOf(parent)) ?? 0) + 1);
  }
  const wrong = rows.flatMap((row) => {
    const emits = log.accounts.get(keyOf(row))?.event.plan.emits === true;
    const isHandled = row.status === "completed" && row.outcome === "handled";
    const count = children.get(generationOf(row)) ?? 0;
    children.delete(generationOf(row));
    if (count === (emits && isHandled ? 1 : 0)) return [];
    const text = `${generationOf(row)} is ${row.status} and emitted ${count} events`;
    return [{ invariant: "I13 EMITTED", text }];
  });
  const orphans = [...children.keys()].map((key) => ({
    invariant: "I13 EMITTED",
    text: `${key} emitted an event and is not in the ledger`,
  }));
  const named = new Set(emitted.map(({ id }) => id));
  const strangers = rows
    .filter(({ source, id }) => source === RELAY && !named.has(id))
    .filter((row) => !isLeftBehind(row, environment))
    .map((row) => ({ invariant: "I13 EMITTED", text: `${generationOf(row)} has no parent` }));
  return [...wrong, ...orphans, ...strangers];
}

/**
 * An event that was emitted before Postgres was put back, and is lost with its parent, which its id names. Its job was left, and
 * has failed for want of a body: it runs when its parent comes again.
 */
function isLeftBehind(
  { source, status, code, id }: LedgerRow,
  { undone }: Evidence["environment"],
): boolean {
  const isLost = source === RELAY && status === "failed" && code === "body_lost";
  const [parentSource = "", parentId = ""] = id.split("|");
  return isLost && undone.has(keyOf({ source: parentSource, id: decodeURIComponent(parentId) }));
}

/** I3 and I4: a handled event has one effect, that of its last attempt; every other event has none. */
export function checkOnce({ rows, effects }: Evidence): Finding[] {
  const byEvent = groupEffects(effects);
  const ledger = new Map(rows.map((row) => [generationOf(row), row]));
  const orphans = [...byEvent.keys()].filter((key) => !ledger.has(key));
  return [
    ...rows.flatMap((row) => checkRow(row, byEvent.get(generationOf(row)) ?? [])),
    ...orphans.map((key) => ({
      invariant: "I4 ATOMIC",
      text: `${key} has an effect and no row in the ledger`,
    })),
  ];
}

function checkRow(row: LedgerRow, effects: readonly EffectRow[]): Finding[] {
  const key = generationOf(row);
  const isHandled = row.status === "completed" && row.outcome === "handled";
  if (effects.length > 1) {
    const attempts = effects.map(({ attempt }) => attempt).join(", ");
    return [{ invariant: "I3 ONCE", text: `${key} has ${effects.length} effects: ${attempts}` }];
  }
  if (isHandled !== (effects.length === 1)) {
    const state = `${row.status}, ${row.outcome}, with ${effects.length} effects`;
    return [{ invariant: "I4 ATOMIC", text: `${key} is ${state}` }];
  }
  const attempt = effects[0]?.attempt;
  if (attempt !== undefined && attempt !== row.attempts) {
    const text = `${key} was completed by attempt ${attempt} of ${row.attempts}`;
    return [{ invariant: "I4 ATOMIC", text }];
  }
  return [];
}

function groupEffects(effects: readonly EffectRow[]): Map<string, EffectRow[]> {
  const groups = new Map<string, EffectRow[]>();
  for (const effect of effects) {
    const key = generationOf(effect);
    groups.set(key, [...(groups.get(key) ?? []), effect]);
  }
  return groups;
}

const ALLOWED = new Set([
  "nothing to pending",
  "pending to completed",
  "pending to failed",
  "failed to pending",
]);
const ALLOWED_WITH_GROUPS = new Set([...ALLOWED, "nothing to completed"]);

/** I5: each event's committed history is a path of the transitions that there are. */
export function checkMonotone({ history, rows, environment }: Evidence): Finding[] {
  const allowed = environment.groups ? ALLOWED_WITH_GROUPS : ALLOWED;
  const last = new Map<string, string>();
  const findings: Finding[] = [];
  for (const step of history) {
    const key = generationOf(step);
    const was = last.get(key) ?? "nothing";
    const isNow = step.isNow ?? "nothing";
    last.set(key, isNow);
    if (was === (step.was ?? "nothing") && allowed.has(`${was} to ${isNow}`)) continue;
    const text = `${key} went from ${step.was ?? "nothing"} to ${isNow}, after ${was}`;
    findings.push({ invariant: "I5 MONOTONE", text });
  }
  for (const row of rows) {
    const key = generationOf(row);
    if (last.get(key) === row.status) continue;
    const text = `${key} is ${row.status} and its history ends with ${last.get(key)}`;
    findings.push({ invariant: "I5 MONOTONE", text });
  }
  return findings;
}

/**
 * I12: a handler starts once for each attempt that the ledger has counted, never twice with one
 * number, and never for an attempt that was not counted. A duplicate therefore starts none. Excused:
 * a set that throws is given to its handler again in halves, and a first attempt that others of its
 * group had undone runs in a later group, twice at most; both in the same process. A first attempt
 * that was undone before it was recorded is known to the queue alone, until it is emptied. A
 * Postgres that was put back has forgotten attempts.
 */
export function checkStarts(evidence: Evidence): Finding[] {
  const { rows, starts, environment } = evidence;
  const { groups, emptied } = environment;
  const undone = withEmitted(evidence);
  const attempts = new Map(rows.map((row) => [generationOf(row), row.attempts]));
  const seen = new Map<string, StartRow>();
  const regrouped = new Map<string, number>();
  return starts.flatMap((start) => {
    const key = `${generationOf(start)}, attempt ${start.attempt}`;
    const before = seen.get(key);
    seen.set(key, start);
    const isSameProcess = before?.pid === start.pid;
    const isHalf = isSameProcess && start.given < before.given;
    const times = regrouped.get(key) ?? 0;
    const isFirst = groups && start.attempt === 1 && start.generation === 0;
    const isRegrouped = isFirst && isSameProcess && !isHalf && times < 2;
    if (isRegrouped) regrouped.set(key, times + 1);
    const isForgotten = groups && start.attempt === 1 && emptied.has(keyOf(start));
    if (isForgotten || undone.has(keyOf(start))) return [];
    if (before !== undefined && !isHalf && !isRegrouped) {
      return [{ invariant: "I12 DEDUP BOUND", text: `${key} was started twice` }];
    }
    if (start.attempt <= (attempts.get(generationOf(start)) ?? 0)) return [];
    return [{ invariant: "I12 DEDUP BOUND", text: `${key} was started and not counted` }];
  });
}

export function withEmitted({ environment, emitted, rows }: Evidence): ReadonlySet<string> {
  const children = emitted.filter(({ parent }) => environment.undone.has(keyOf(parent)));
  const left = rows.filter((row) => isLeftBehind(row, environment));
  return new Set([...environment.undone, ...children.map(keyOf), ...left.map(keyOf)]);
}

export function countReruns({ starts, failedAttempts }: Evidence): number {
  const perEvent = new Map<string, Set<number>>();
  for (const start of starts) {
    const attempts = perEvent.get(generationOf(start)) ?? new Set();
    perEvent.set(generationOf(start), attempts.add(start.attempt));
  }
  return [...perEvent].reduce(
    (sum, [key, { size }]) => sum + Math.max(0, size - 1 - (failedAttempts.get(key) ?? 0)),
    0,
  );
}
