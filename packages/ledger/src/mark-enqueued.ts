import type { EventKey } from "@millrace/core";
import { packKeys } from "./pack-keys.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { MARK_ENQUEUED } from "./sql/mark-enqueued.ts";
import { runStatement } from "./transaction.ts";

/**
 * Notes that jobs of events are on the queue, for those that are pending and were not known to have
 * one. Whoever enqueues an identity from the ledger calls it afterwards; until then the reconciler may
 * enqueue it too, which does no harm.
 *
 * @throws `database_unavailable`
 */
export async function markEnqueued(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<void> {
  if (keys.length === 0) return;
  const query = { name: "millrace_mark_enqueued", text: MARK_ENQUEUED, values: packKeys(keys) };
  await runStatement(ledger.pool, query, ledger.short);
}
