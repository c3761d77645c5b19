import { keyOf } from "../load/client-log.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";

/** I1: every event that was answered 2xx is completed or failed. */
export function checkLost({ log, rows, stage }: Evidence): Finding[] {
  const settled = new Set(rows.filter(({ status }) => status !== "pending").map(keyOf));
  return [...log.accounts]
    .filter(([key, { acknowledged }]) => acknowledged > 0 && !settled.has(key))
    .filter(([key]) => !stage.excused.has(key))
    .map(([key]) => ({ invariant: "I1 LOST", text: `${key} was acknowledged and is not settled` }));
}
