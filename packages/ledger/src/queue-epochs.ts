import type { LedgerContext } from "./ledger-context.ts";
import { runStatement } from "./transaction.ts";

const READ = "SELECT queue, epoch FROM millrace.queue_epochs";

const WRITE = `
INSERT INTO millrace.queue_epochs (queue, epoch)
SELECT * FROM unnest($1::text[], $2::text[])
ON CONFLICT (queue) DO UPDATE SET epoch = excluded.epoch, written_at = clock_timestamp()`;

/**
 * Reads the epoch that each queue had when all pending events were last compared with it.
 *
 * @throws `database_unavailable`
 */
export async function readEpochs(ledger: LedgerContext): Promise<ReadonlyMap<string, string>> {
  const { rows } = await runStatement<{ queue: string; epoch: string }>(
    ledger.pool,
    { text: READ },
    ledger.reads,
  );
  return new Map(rows.map(({ queue, epoch }) => [queue, epoch]));
}

/**
 * Writes the epochs that queues had when all pending events were compared with them.
 *
 * @throws `database_unavailable`
 */
export async function writeEpochs(
  ledger: LedgerContext,
  epochs: ReadonlyMap<string, string>,
): Promise<void> {
  const query = { text: WRITE, values: [[...epochs.keys()], [...epochs.values()]] };
  await runStatement(ledger.pool, query, ledger.short);
}
