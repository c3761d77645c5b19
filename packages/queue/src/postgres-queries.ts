import type { Queue } from "bullmq";
import type pg from "pg";
import type { Backend } from "./backend.ts";
import { endedRunName } from "./jobs.ts";
import type { JobCounts, JobEnd, JobStatus, SourcePressure } from "./queues.ts";

const COLUMNS = `id, state::text, added_at_ms, finished_at_ms, attempts_made, failed_reason`;

const STATUSES = `SELECT ${COLUMNS} FROM job WHERE queue = $1 AND id = ANY($2::text[])`;

const FINISHED = `
  SELECT ${COLUMNS}, CASE jsonb_typeof(data)
         WHEN 'object' THEN (data - 'body' || '{"headers": {}}')::text ELSE 'null' END AS data
    FROM job WHERE queue = $1 AND state = $2::job_state AND finished_at_ms >= $3
   ORDER BY finished_at_ms, id OFFSET $4 LIMIT $5`;

const FORGET_STALLS = `UPDATE job SET stalled_count = 0 WHERE queue = $1 AND id = $2`;

/** BullMQ's function reads the state first, and would move a job that a worker has just taken. */
const PROMOTE = `
  WITH locked AS MATERIALIZED (SELECT queue, id FROM job WHERE queue = $1 AND id = $2 FOR UPDATE)
  SELECT promote(queue, id) AS code FROM locked`;

export function createPostgresQueries(pool: pg.Pool) {
  return {
    statuses: async (queue, ids) => {
      const { rows } = await pool.query<JobRow>(STATUSES, [queue.name, ids]);
      const byId = new Map(rows.map((row) => [row.id, toStatus(row)]));
      return ids.map((id) => byId.get(id));
    },
    finished: async (queue, { state, from, limit }) => {
      const values = [queue.name, state, from.atMs, from.skip, limit];
      const { rows } = await pool.query<JobRow & { data: string }>(FINISHED, values);
      return rows.map((row) => ({ ...toEnd(row), id: row.id, data: row.data }));
    },
    forgetStalls: async (queue, jobId) => {
      await pool.query(FORGET_STALLS, [queue.name, jobId]);
    },
    promote: async (queue, jobId) => {
      const { rows } = await pool.query<{ code: number }>(PROMOTE, [queue.name, jobId]);
      const [{ code } = { code: -1 }] = rows;
      if (code !== 0) throw Object.assign(new Error("Cannot promote the job"), { code });
    },
    counts: async (queues) => {
      const { rows } = await pool.query<CountRow>(COUNTS, [namesOf(queues)]);
      return new Map([...queues].map(([source, queue]) => [source, toCounts(queue, rows)]));
    },
    pressure: async (queues) => {
      const { rows } = await pool.query<PressureRow>(PRESSURE, [namesOf(queues)]);
      const sources = [...queues.keys()].map(
        (source, index) => [source, toPressure(rows[index])] as const,
      );
      return { memoryShare: undefined, sources: new Map(sources) };
    },
    epochs: async (queues) => {
      const values = [namesOf(queues), EPOCH_FIELD];
      const { rows } = await pool.query<{ queue: string; value: string }>(EPOCHS, values);
      const byName = new Map(rows.map((row) => [row.queue, row.value]));
      return new Map([...queues].map(([source, queue]) => [source, byName.get(queue.name)]));
    },
    writeEpoch: async (queue, epoch) => {
      await pool.query(WRITE_EPOCH, [queue.name, EPOCH_FIELD, epoch]);
    },
    // The queue is in the ledger's own database, and restored with it.
    ledgerMarks: async () => new Map(),
    writeLedgerMark: async () => {},
    forgotten: async () => ({ count: 0, tillMs: Date.now() }),
  } satisfies Partial<Backend>;
}

interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly added_at_ms: string;
  readonly finished_at_ms: string | null;
  readonly attempts_made: number;
  readonly failed_reason: string | null;
}

function toStatus(row: JobRow): JobStatus {
  const { state } = row;
  return state === "failed" || state === "completed" ? { state, ...toEnd(row) } : { state: "live" };
}

function toEnd({ added_at_ms, attempts_made, ...row }: JobRow): JobEnd {
  const failedReason = row.failed_reason ?? "";
  const counted = { timestamp: Number(added_at_ms), attemptsMade: attempts_made };
  return {
    finishedAtMs: Number(row.finished_at_ms ?? 0),
    failedReason: row.failed_reason ?? undefined,
    run: endedRunName({ ...counted, failedReason }),
  };
}

function namesOf(queues: ReadonlyMap<string, Queue>): string[] {
  return [...queues.values()].map((queue) => queue.name);
}

const COUNTS = `
  SELECT queue, state::text, count(*)::int AS jobs FROM job WHERE queue = ANY($1::text[]) GROUP BY 1, 2
  UNION ALL
  SELECT queue, 'paused', 1 FROM meta
   WHERE queue = ANY($1::text[]) AND field = 'paused' AND value = '1'`;

type CountRow = Readonly<{ queue: string; state: string; jobs: number }>;

function toCounts(queue: Queue, rows: readonly CountRow[]): JobCounts {
  const of = (state: string) =>
    rows.find((row) => row.queue === queue.name && row.state === state)?.jobs ?? 0;
  return {
    waiting: of("waiting"),
    active: of("active"),
    delayed: of("delayed"),
    completed: of("completed"),
    failed: of("failed"),
    // The ledger has each event, and the reconciler adds a job that is gone.
    removed: 0,
    paused: of("paused") > 0,
  };
}

const PRESSURE = `
  SELECT ((SELECT count(*) FROM job WHERE queue = each.queue AND state = 'waiting')
        + (SELECT count(*) FROM job WHERE queue = each.queue AND state = 'delayed'))::int AS depth,
         (SELECT min(added_at_ms) FROM (
            SELECT added_at_ms, attempts_started FROM job
             WHERE queue = each.queue AND state = 'waiting' ORDER BY priority, seq LIMIT 10) AS next
           WHERE attempts_started = 0) AS oldest,
         (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
    FROM unnest($1::text[]) WITH ORDINALITY AS each (queue, position)
   ORDER BY position`;

type PressureRow = Readonly<{ depth: number; oldest: string | null; now: string }>;

function toPressure(row: PressureRow | undefined): SourcePressure {
  const oldest = row?.oldest ?? null;
  const oldestAgeMs = oldest === null ? undefined : Math.max(0, Number(row?.now) - Number(oldest));
  return { depth: row?.depth ?? 0, oldestAgeMs };
}

/** The field of a queue's `meta` with its epoch; `meta` goes when the queue is obliterated. */
const EPOCH_FIELD = "millrace:epoch";

const EPOCHS = `SELECT queue, value FROM meta WHERE queue = ANY($1::text[]) AND field = $2`;

const WRITE_EPOCH = `
  INSERT INTO meta (queue, field, value) VALUES ($1, $2, $3)
  ON CONFLICT (queue, field) DO UPDATE SET value = excluded.value`;
