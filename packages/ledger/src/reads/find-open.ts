import type { BulkState, BulkVerb } from "@millrace/api-contract";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

export interface OpenWork {
  readonly runs: readonly {
    readonly id: number;
    readonly verb: BulkVerb;
    readonly state: BulkState;
    readonly error: string | null;
  }[];
  readonly errors: number;
}

const FIND_OPEN = `
SELECT
  (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.id), '[]') FROM (
    SELECT id, verb, state, error FROM millrace.bulk_runs WHERE finished_at IS NULL ORDER BY id LIMIT 10
  ) AS r) AS runs,
  (SELECT count(*)::int FROM (
    SELECT FROM millrace.errors WHERE state = 'open' LIMIT 100
  ) AS e) AS errors`;

export async function findOpen(ledger: LedgerContext): Promise<OpenWork> {
  const { rows } = await runStatement<OpenWork>(ledger.pool, { text: FIND_OPEN }, ledger.reads);
  return rows[0] ?? { runs: [], errors: 0 };
}
