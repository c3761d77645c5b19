import type { Queue } from "bullmq";
import type pg from "pg";
import type { Backend } from "./backend.ts";
import type { JobCounts, SourcePressure } from "./queues.ts";

const COUNTS = `
  SELECT queue, state::text, count(*)::int AS jobs FROM job WHERE queue = ANY($1::text[]) GROUP BY 1, 2
  UNION ALL
  SELECT queue, 'paused', 1 FROM meta
   WHERE queue = ANY($1::text[]) AND field = 'paused' AND value = '1'`;

const NEXT = `
  SELECT added_at_ms FROM job
   WHERE queue = $1 AND state = 'waiting' ORDER BY priority, seq LIMIT 1`;

/** Of a job that has been begun nobody knows since when it waits, so it is passed over, with an end. */
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

/**
 * What BullMQ's own methods do not do on Postgres: it asks for the counts queue by queue, calls the
 * waiting jobs of a paused queue something else, and gives the newest job where the oldest was meant.
 */
export function createPostgresQueries(
  pool: pg.Pool,
): Pick<Backend, "counts" | "nextAddedAtMs" | "forgetStalls" | "pressure"> {
  return {
    counts: async (queues) => {
      const names = [...queues.values()].map((queue) => queue.name);
      const { rows } = await pool.query<CountRow>(COUNTS, [names]);
      return new Map([...queues].map(([source, queue]) => [source, countsOf(queue, rows)]));
    },
    nextAddedAtMs: async (queue) => {
      const { rows } = await pool.query<{ added_at_ms: string }>(NEXT, [queue.name]);
      return rows[0] === undefined ? undefined : Number(rows[0].added_at_ms);
    },
    pressure: async (queues) => {
      const names = [...queues.values()].map((queue) => queue.name);
      const { rows } = await pool.query<PressureRow>(PRESSURE, [names]);
      const sources = [...queues.keys()].map(
        (source, index) => [source, pressureOf(rows[index])] as const,
      );
      return { memoryShare: undefined, sources: new Map(sources) };
    },
    forgetStalls: async (queue, jobId) => {
      await pool.query("UPDATE job SET stalled_count = 0 WHERE queue = $1 AND id = $2", [
        queue.name,
        jobId,
      ]);
    },
  };
}

interface CountRow {
  readonly queue: string;
  readonly state: string;
  readonly jobs: number;
}

function countsOf(queue: Queue, rows: readonly CountRow[]): JobCounts {
  const of = (state: string) =>
    rows.find((row) => row.queue === queue.name && row.state === state)?.jobs ?? 0;
  return {
    waiting: of("waiting"),
    active: of("active"),
    delayed: of("delayed"),
    completed: of("completed"),
    failed: of("failed"),
    paused: of("paused") > 0,
  };
}

interface PressureRow {
  readonly depth: number;
  readonly oldest: string | null;
  readonly now: string;
}

function pressureOf(row: PressureRow | undefined): SourcePressure {
  const oldest = row?.oldest ?? null;
  const oldestAgeMs = oldest === null ? undefined : Math.max(0, Number(row?.now) - Number(oldest));
  return { depth: row?.depth ?? 0, oldestAgeMs };
}
