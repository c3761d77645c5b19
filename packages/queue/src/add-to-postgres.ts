import type { Envelope, Placement } from "@millrace/core";
import type { Queue } from "bullmq";
import type pg from "pg";
import type { AddOptions, NewJob } from "./backend.ts";
import { toBulkJob } from "./job-options.ts";
import { firstOfEach, placementsOf, type KnownJob } from "./known-jobs.ts";

const KNOWN = `
  SELECT id, state = 'failed' AS failed, data ->> 'body_hash' AS body_hash
    FROM job WHERE queue = $1 AND id = ANY($2::text[])`;

/**
 * Adds jobs in one statement: all or none. A caller that wants no more than that is not made to wait
 * for a look at what was there before; everything is `accepted` then.
 */
export async function addToPostgres(
  pool: pg.Pool,
  queue: Queue,
  jobs: readonly NewJob[],
  options: AddOptions,
): Promise<readonly Placement[]> {
  const distinct = firstOfEach(jobs);
  const known = options.exact ? await knownJobs(pool, queue, distinct) : new Map();
  await queue.addBulk(distinct.map((job) => toBulkJob({ ...job, data: withoutNul(job.data) })));
  return placementsOf(jobs, known, options);
}

async function knownJobs(
  pool: pg.Pool,
  queue: Queue,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<string, KnownJob>> {
  const { rows } = await pool.query<{ id: string; failed: boolean; body_hash: string | null }>(
    KNOWN,
    [queue.name, jobs.map(({ id }) => id)],
  );
  return new Map(
    rows.map((row) => [row.id, { bodyHash: row.body_hash ?? undefined, failed: row.failed }]),
  );
}

/** Job data is jsonb here, which refuses U+0000 in a string; base64 holds none. */
function withoutNul(envelope: Envelope): Envelope {
  if (envelope.body_encoding !== "utf8" || envelope.body?.includes("\0") !== true) return envelope;
  return {
    ...envelope,
    body: Buffer.from(envelope.body, "utf8").toString("base64"),
    body_encoding: "base64",
  };
}
