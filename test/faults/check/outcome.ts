import { keyOf } from "../load/client-log.ts";
import type { PlannedEvent } from "../load/plan.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

/**
 * I1, further: what was sure to succeed in the end is completed and not given up, and what never can is
 * failed. Of `frail` events nobody can say, as attempts that die with their workers count for them.
 */
export function checkOutcome({ rows, log }: Evidence): Finding[] {
  return rows.flatMap((row) => {
    const event = log.accounts.get(keyOf(row))?.event;
    if (event === undefined || row.status === "pending") return [];
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
