import type { EventKey } from "@millrace/core";
import type { LedgerContext } from "./ledger-context.ts";
import { packKeys } from "./pack-keys.ts";
import { UNMARK_ENQUEUED } from "./sql/unmark-enqueued.ts";
import { runStatement } from "./transaction.ts";

/**
 * Notes that pending events have no job any longer, so that they are looked into like those that never
 * had one.
 *
 * @throws `database_unavailable`
 */
export async function unmarkEnqueued(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<void> {
  if (keys.length === 0) return;
  const query = { name: "millrace_unmark_enqueued", text: UNMARK_ENQUEUED, values: packKeys(keys) };
  await runStatement(ledger.pool, query, ledger.short);
}
