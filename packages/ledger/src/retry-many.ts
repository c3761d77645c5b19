import { isStorable, type EventKey } from "@millrace/core";
import { keyText } from "./event-key.ts";
import { toIdentity, type EventIdentity, type IdentityRow } from "./identity-row.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { packKeys } from "./pack-keys.ts";
import { RETRY_MANY } from "./sql/retry-many.ts";
import { runStatement } from "./transaction.ts";

/** What became of one event of a retry. */
export type RetryManyAnswer =
  /** It was failed and is pending now; its job is the caller's to put on the queue. */
  | { readonly kind: "retried"; readonly event: EventIdentity }
  /** It was so before, and nothing was changed. */
  | { readonly kind: "pending"; readonly event: EventIdentity }
  | { readonly kind: "completed" | "not_found" | "body_missing" };

/**
 * Makes failed events pending again in one commit, their attempts counted anew: one answer a key, in
 * order. Of two calls at once, one retries an event. A dry run answers the same and changes nothing.
 *
 * @throws `database_unavailable`
 */
export async function retryMany(
  ledger: LedgerContext,
  keys: readonly EventKey[],
  options: { dryRun?: boolean } = {},
): Promise<readonly RetryManyAnswer[]> {
  const dryRun = options.dryRun === true;
  const wanted = new Map(keys.filter(isStorableKey).map((key) => [keyText(key), key] as const));
  const found = await runRetry(ledger, [...wanted.values()], dryRun);
  const again = [...wanted].filter(([name]) => found.get(name)?.kind === "again");
  if (again.length > 0) {
    // The next snapshot sees what another transaction did to these while they were waited for.
    const lookAgain = again.map(([, key]) => key);
    for (const [name, row] of await runRetry(ledger, lookAgain, dryRun)) found.set(name, row);
  }
  return keys.map((key) => {
    const row = found.get(keyText(key));
    if (row === undefined) return { kind: "not_found" };
    const kind = row.kind === "again" ? "pending" : row.kind;
    return kind === "retried" || kind === "pending" ? { kind, event: toIdentity(row) } : { kind };
  });
}

interface Row extends IdentityRow {
  readonly kind: Exclude<RetryManyAnswer["kind"], "not_found"> | "again";
}

async function runRetry(
  ledger: LedgerContext,
  keys: readonly EventKey[],
  dryRun: boolean,
): Promise<Map<string, Row>> {
  const { rows } = await runStatement<Row>(
    ledger.pool,
    { name: "millrace_retry_many", text: RETRY_MANY, values: [...packKeys(keys), dryRun] },
    ledger.short,
  );
  return new Map(rows.map((row) => [keyText({ ...row, eventId: row.event_id }), row]));
}

/** Postgres holds no event of another name. */
export function isStorableKey({ source, eventId }: Pick<EventKey, "source" | "eventId">): boolean {
  return isStorable(source) && isStorable(eventId);
}
