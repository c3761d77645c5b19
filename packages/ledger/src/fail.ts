import type { AttemptFailure } from "@millrace/core";
import type { AttemptClaim } from "./attempt.ts";
import { cutText } from "./cut-text.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { FAIL } from "./sql/fail.ts";
import { runStatement } from "./transaction.ts";

/**
 * Records a failed attempt and its error, in a transaction of its own. `lost` when the event is not
 * pending or has been claimed since: then nothing is written. Asking again, because the answer was
 * lost, changes nothing and has the same answer.
 *
 * @throws `database_unavailable`
 */
export async function fail(
  ledger: LedgerContext,
  { key, attempt }: AttemptClaim,
  failure: AttemptFailure,
): Promise<"recorded" | "lost"> {
  const values = [
    ...[key.source, key.eventId, key.generation, attempt],
    ...[failure.final, failure.counts, failure.code, cutText(failure.message), failure.run],
  ];
  const { rows } = await runStatement(ledger.pool, { text: FAIL, values }, ledger.short);
  return rows.length > 0 ? "recorded" : "lost";
}
