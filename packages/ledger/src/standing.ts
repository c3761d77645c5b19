import type { EventKey, EventStatus } from "@millrace/core";
import { keyText } from "./event-key.ts";
import { toIdentity, type EventIdentity, type IdentityRow } from "./identity-row.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { packKeys } from "./pack-keys.ts";
import { isStorableKey } from "./retry-many.ts";
import { STANDINGS } from "./sql/standings.ts";
import { runStatement } from "./transaction.ts";

/** How an event stands in the ledger, for those who compare it with its job. */
export interface Standing {
  readonly event: EventIdentity;
  readonly status: EventStatus;
  /** By the database's clock: when it last became pending, and how long ago that is. */
  readonly pendingSinceMs: number;
  readonly pendingForMs: number;
  /** Whether a job of it has been seen on the queue since then. */
  readonly placed: boolean;
}

export interface StandingRow extends IdentityRow {
  readonly status: EventStatus;
  readonly pending_since: Date;
  readonly pending_for_ms: number;
  readonly placed: boolean;
}

export function toStanding(row: StandingRow): Standing {
  return {
    event: toIdentity(row),
    status: row.status,
    pendingSinceMs: row.pending_since.getTime(),
    pendingForMs: row.pending_for_ms,
    placed: row.placed,
  };
}

/**
 * Tells how events stand: one answer a key, in order; undefined for an event that the ledger does not
 * know.
 *
 * @throws `database_unavailable`
 */
export async function standings(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<readonly (Standing | undefined)[]> {
  const query = {
    name: "millrace_standings",
    text: STANDINGS,
    values: packKeys(keys.filter(isStorableKey)),
  };
  const { rows } = await runStatement<StandingRow>(ledger.pool, query, ledger.short);
  const found = new Map(
    rows.map((row) => [keyText({ ...row, eventId: row.event_id }), toStanding(row)]),
  );
  return keys.map((key) => found.get(keyText(key)));
}
