import type { ErrorCode } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";
import { runStatement } from "../connection/transaction.ts";

export interface Refusals {
  readonly source: string | undefined;
  readonly code: string;
  readonly deliveries: number;
}

/** Refusals of one minute, and its age in milliseconds: clocks of other machines may be wrong. */
export interface NotedRefusals extends Refusals {
  readonly agoMs: number;
}

// Sorted by key, so that two ingresses do not wait for each other's rows.
const NOTE_REFUSALS = `
INSERT INTO millrace.refusals AS r (at, source, code, deliveries)
SELECT date_bin('1 minute', clock_timestamp() - ago_ms * interval '1 ms', 'epoch'), source, code, sum(deliveries)
FROM jsonb_to_recordset($1::jsonb) AS one (ago_ms float8, source text, code text, deliveries bigint)
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
ON CONFLICT (at, source, code) DO UPDATE SET deliveries = r.deliveries + excluded.deliveries`;

export async function noteRefusals(
  ledger: LedgerContext,
  refusals: readonly NotedRefusals[],
): Promise<void> {
  const rows = refusals.map(({ agoMs, source = "", code, deliveries }) => {
    return { ago_ms: agoMs, source, code, deliveries };
  });
  const query = { text: NOTE_REFUSALS, values: [JSON.stringify(rows)] };
  await runStatement(ledger.pool, query, ledger.short);
}

const FIND_REFUSALS = `
SELECT nullif(source, '') AS source, code, sum(deliveries)::float8 AS deliveries
FROM millrace.refusals
WHERE at >= date_bin('1 minute', now(), 'epoch') - $1 * interval '1 minute' AND code = coalesce($2, code)
GROUP BY source, code
ORDER BY deliveries DESC, source, code`;

export async function findRefusals(
  ledger: LedgerContext,
  minutes: number,
  code?: ErrorCode,
): Promise<readonly Refusals[]> {
  type Row = Refusals & { readonly source: string | null };
  const rows = await queryRows<Row>(ledger, FIND_REFUSALS, [minutes, code]);
  return rows.map((row) => ({ ...row, source: row.source ?? undefined }));
}
