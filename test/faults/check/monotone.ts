import { generationOf, type Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

const ALLOWED = new Set([
  "nothing to pending",
  "pending to completed",
  "pending to failed",
  "failed to pending",
]);

/** I5: each event's committed history is a path of the transitions that there are. */
export function checkMonotone({ history, rows }: Evidence): Finding[] {
  const last = new Map<string, string>();
  const findings: Finding[] = [];
  for (const step of history) {
    const key = generationOf(step);
    const was = last.get(key) ?? "nothing";
    const isNow = step.isNow ?? "nothing";
    last.set(key, isNow);
    if (was === (step.was ?? "nothing") && ALLOWED.has(`${was} to ${isNow}`)) continue;
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
