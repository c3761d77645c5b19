import type { ErrorDetails } from "@millrace/core";
import { cutText } from "../connection/cut-text.ts";

/** Rows that the failures of one group, source, and type are counted in, against contention. */
const SHARDS = 64;

/** For each row of `logged` (source, event_id, generation, type). A resolved group opens again. */
export const COUNT_ERROR = `
counted AS (
  INSERT INTO millrace.error_counts AS c
    (fingerprint, source, type, shard, attempts, event_id, generation)
  SELECT :fingerprint::text, source, type, pg_backend_pid() % ${SHARDS}, 1, event_id, generation
  FROM logged WHERE :fingerprint::text IS NOT NULL
  ON CONFLICT (fingerprint, source, type, shard) DO UPDATE
  SET attempts = c.attempts + 1, last_seen_at = excluded.last_seen_at,
    event_id = excluded.event_id, generation = excluded.generation
),
grouped AS (
  INSERT INTO millrace.errors (fingerprint, title, code)
  SELECT :fingerprint::text, :title::text, code FROM logged WHERE :fingerprint::text IS NOT NULL
  ON CONFLICT DO NOTHING
),
reopened AS (
  UPDATE millrace.errors SET state = 'open', reopened_at = clock_timestamp()
  WHERE fingerprint = :fingerprint::text AND state = 'resolved' AND EXISTS (SELECT FROM logged)
)`;

/** The parameters of {@link COUNT_ERROR}; null for no group. */
export function groupValues(identity: Pick<ErrorDetails, "fingerprint" | "title"> | undefined): {
  readonly fingerprint: string | null;
  readonly title: string | null;
} {
  if (identity === undefined) return { fingerprint: null, title: null };
  return { fingerprint: identity.fingerprint, title: cutText(identity.title) };
}
