import type { Queue } from "bullmq";
import type pg from "pg";
import type { Backend, SeenJob } from "./backend.ts";

/** Where the epoch stands in a queue's `meta`, which goes when the queue is obliterated. */
const EPOCH_FIELD = "millrace:epoch";

const COLUMNS = `id, state::text, added_at_ms, finished_at_ms, attempts_made, failed_reason`;

const LOOK = `SELECT ${COLUMNS} FROM job WHERE queue = $1 AND id = ANY($2::text[])`;

const ENDED = `
  SELECT ${COLUMNS}, CASE jsonb_typeof(data)
         WHEN 'object' THEN (data - 'body' || '{"headers": {}}')::text ELSE 'null' END AS data
    FROM job WHERE queue = $1 AND state = $2::job_state AND finished_at_ms >= $3
   ORDER BY finished_at_ms, id OFFSET $4 LIMIT $5`;

const EPOCHS = `SELECT queue, value FROM meta WHERE queue = ANY($1::text[]) AND field = $2`;

const WRITE_EPOCH = `
  INSERT INTO meta (queue, field, value) VALUES ($1, $2, $3)
  ON CONFLICT (queue, field) DO UPDATE SET value = excluded.value`;

type PostgresLook = Pick<Backend, "look" | "ended" | "epochs" | "writeEpoch">;

/** Compares queues on Postgres with the ledger. */
export function createPostgresLook(pool: pg.Pool): PostgresLook {
  return {
    look: async (queue, ids) => {
      const { rows } = await pool.query<Row>(LOOK, [queue.name, ids]);
      const byId = new Map(rows.map((row) => [row.id, toSeen(row)]));
      return ids.map((id) => byId.get(id));
    },
    ended: async (queue, { state, from, limit }) => {
      const values = [queue.name, state, from.atMs, from.skip, limit];
      const { rows } = await pool.query<Row & { data: string }>(ENDED, values);
      return rows.map((row) => ({ ...toSeen(row), id: row.id, data: row.data }));
    },
    epochs: (queues) => readEpochs(pool, queues),
    writeEpoch: async (queue, epoch) => {
      await pool.query(WRITE_EPOCH, [queue.name, EPOCH_FIELD, epoch]);
    },
  };
}

interface Row {
  readonly id: string;
  readonly state: string;
  readonly added_at_ms: string;
  readonly finished_at_ms: string | null;
  readonly attempts_made: number;
  readonly failed_reason: string | null;
}

function toSeen(row: Row): SeenJob {
  const { state } = row;
  return {
    state: state === "failed" || state === "completed" ? state : undefined,
    addedAtMs: Number(row.added_at_ms),
    finishedAtMs: Number(row.finished_at_ms ?? 0),
    attemptsMade: row.attempts_made,
    failedReason: row.failed_reason ?? undefined,
  };
}

async function readEpochs(
  pool: pg.Pool,
  queues: ReadonlyMap<string, Queue>,
): Promise<ReadonlyMap<string, string | undefined>> {
  const names = [...queues.values()].map((queue) => queue.name);
  const { rows } = await pool.query<{ queue: string; value: string }>(EPOCHS, [names, EPOCH_FIELD]);
  const byName = new Map(rows.map((row) => [row.queue, row.value]));
  return new Map([...queues].map(([source, queue]) => [source, byName.get(queue.name)]));
}
