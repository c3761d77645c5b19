import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";

export interface KeptEpoch {
  readonly epoch: string;
  /** Passes of the reconciler that were counted; 0 before the first. */
  readonly pass: number;
  readonly passedAtMs: number | null;
  readonly change: KeptChange | null;
}

/** The last time that this Postgres was found not to be the one that a queue knew. */
export interface KeptChange {
  readonly kind: string;
  readonly atMs: number;
  /** Jobs that completed between these times, lost by Postgres and gone from the queue. */
  readonly unnamed: number;
  readonly fromMs: number;
  readonly tillMs: number;
}

const READ = `
SELECT queue, epoch, pass::float8 AS pass, change,
  (extract(epoch FROM passed_at) * 1000)::float8 AS "passedAtMs"
FROM millrace.queue_epochs`;

export async function readEpochs(ledger: LedgerContext): Promise<ReadonlyMap<string, KeptEpoch>> {
  const rows = await queryRows<KeptEpoch & { readonly queue: string }>(ledger, READ);
  return new Map(rows.map(({ queue, ...epoch }) => [queue, epoch]));
}

const WRITE = `
INSERT INTO millrace.queue_epochs (queue, epoch)
SELECT * FROM unnest($1::text[], $2::text[])
ON CONFLICT (queue) DO UPDATE SET epoch = excluded.epoch, written_at = clock_timestamp()`;

export async function writeEpochs(
  ledger: LedgerContext,
  epochs: ReadonlyMap<string, string>,
): Promise<void> {
  await ledger.send({ text: WRITE, values: [[...epochs.keys()], [...epochs.values()]] });
}

const COUNT_PASS = `
UPDATE millrace.queue_epochs q
SET pass = greatest(q.pass, g.pass) + 1, passed_at = clock_timestamp(), change = coalesce(g.change, q.change)
FROM unnest($1::text[], $2::bigint[], $3::jsonb[]) AS g (queue, pass, change)
WHERE q.queue = g.queue
RETURNING q.queue, q.pass::float8 AS pass`;

export async function countPass(
  ledger: LedgerContext,
  queues: ReadonlyMap<string, { readonly pass: number; readonly change: KeptChange | undefined }>,
): Promise<ReadonlyMap<string, number>> {
  const given = [...queues.values()];
  const values = [
    [...queues.keys()],
    given.map(({ pass }) => pass),
    given.map(({ change }) => (change === undefined ? null : JSON.stringify(change))),
  ];
  type Row = { readonly queue: string; readonly pass: number };
  const { rows } = await ledger.send<Row>({ text: COUNT_PASS, values });
  return new Map(rows.map(({ queue, pass }) => [queue, pass]));
}
