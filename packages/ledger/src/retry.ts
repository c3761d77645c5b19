import type { EventKey, EventStatus } from "@millrace/core";
import type { LedgerContext } from "./ledger-context.ts";
import { RETRY } from "./sql/retry.ts";
import { runStatement } from "./transaction.ts";

export type RetryAnswer = "retried" | "not_failed" | "not_found";

/**
 * Makes a failed event pending again, with its attempts counted anew. The job is the caller's to
 * retry, afterwards.
 *
 * @throws `database_unavailable`
 */
export async function retry(ledger: LedgerContext, key: EventKey): Promise<RetryAnswer> {
  const { rows } = await runStatement<{ status: EventStatus }>(
    ledger.pool,
    { text: RETRY, values: [key.source, key.eventId, key.generation] },
    ledger.short,
  );
  const status = rows[0]?.status;
  if (status === undefined) return "not_found";
  return status === "failed" ? "retried" : "not_failed";
}
