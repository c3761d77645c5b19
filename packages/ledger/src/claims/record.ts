import {
  ERROR_CODES,
  isStorable,
  LEFT_TO_A_PERSON,
  type Claim,
  type CopyOf,
  type ErrorCode,
  type EventJob,
  type EventKey,
} from "@millrace/core";
import { isDatabaseUnavailable, messageOf } from "../connection/database-errors.ts";
import { IDENTITY_LOCK } from "./admit.ts";
import { WAITS_LOGGED } from "./fail.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import {
  chunkEvents,
  INCOMING,
  INSERT_FRESH,
  keyText,
  NOTE_CONFLICT,
  sendEvents,
  type Conflict,
} from "./event-batch.ts";
import { BODY_KEPT } from "../schema/bodies.ts";
import { isDataError } from "../connection/sqlstate.ts";
import { FIRST_OF_COPY } from "./same-message.ts";
import { statement } from "../connection/statement.ts";

interface RecordRow extends EventKey {
  readonly kind: Claim["kind"] | "again";
  readonly attempt: number;
  readonly attemptSinceRetry: number;
  readonly waits: number;
  readonly pendingForMs: number;
  readonly isNew: boolean;
  readonly type: string | null;
  readonly unsigned: boolean | null;
  readonly receivedAtMs: number | null;
  readonly lastError: string | null;
  readonly lastErrorCode: ErrorCode | null;
  readonly conflict: Conflict | null;
  readonly copyOf: CopyOf | null;
}

const BUSY: Claim = { kind: "busy" };

export async function record(
  ledger: LedgerContext,
  jobs: readonly EventJob[],
): Promise<readonly Claim[]> {
  const first = new Map<string, EventJob>();
  for (const job of jobs) {
    const key = keyText(job.event);
    if (!first.has(key) && isRecordable(job)) first.set(key, job);
  }
  const chunks = chunkEvents([...first.values()], (job) => job.event);
  const claims = await recordParts(ledger, chunks);
  return jobs.map((job) => {
    if (!isRecordable(job)) return unstorable("its text holds a NUL or half a surrogate pair");
    // Of repeats within the call, the first is the one that was recorded.
    const claim = claims.get(job) ?? BUSY;
    claims.delete(job);
    return claim;
  });
}

function isRecordable({ event, run }: EventJob): boolean {
  return [event.source, event.eventId, event.type, run].every(isStorable);
}

function unstorable(reason: string): Claim {
  const message = `Cannot record the event: ${reason}`;
  return { kind: "failed", code: "invalid_envelope", message };
}

async function recordChunk(
  ledger: LedgerContext,
  jobs: readonly EventJob[],
): Promise<Map<EventJob, Claim>> {
  try {
    return await recordOnce(ledger, jobs);
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error;
    const [only] = jobs;
    if (jobs.length === 1 && only !== undefined) {
      const claim: Claim = isDataError(error)
        ? unstorable(messageOf(error))
        : { kind: "unrecorded", error };
      return new Map([[only, claim]]);
    }
    const singly = jobs.map((job) => [job]);
    return await recordParts(ledger, singly);
  }
}

// Attempts recorded before the database went away are ours and run; jobs not reached are busy.
async function recordParts(
  ledger: LedgerContext,
  parts: readonly (readonly EventJob[])[],
): Promise<Map<EventJob, Claim>> {
  const claims = new Map<EventJob, Claim>();
  for (const part of parts) {
    try {
      for (const [job, claim] of await recordChunk(ledger, part)) claims.set(job, claim);
    } catch (error) {
      if (claims.size === 0) throw error;
      return claims;
    }
  }
  return claims;
}

async function recordOnce(
  ledger: LedgerContext,
  jobs: readonly EventJob[],
): Promise<Map<EventJob, Claim>> {
  const { claims, again } = await runRecord(ledger, jobs);
  if (again.length === 0) return claims;
  // The next snapshot sees the row that came in meanwhile.
  const second = await runRecord(ledger, again);
  for (const [job, claim] of second.claims) claims.set(job, claim);
  for (const job of second.again) claims.set(job, BUSY);
  return claims;
}

const FINAL_CODES = LEFT_TO_A_PERSON.map((code) => `'${code}'`).join(", ");

const INTERRUPTED = `'${ERROR_CODES.interrupted.meaning}'`;

const IS_EXPIRED =
  "to_timestamp(received_at_ms / 1000) < now() - make_interval(days => :keysDays::int)";

// Inserts a new event with its first attempt; counts an attempt of a pending one; makes a failed
// one pending, unless it failed in this very run, has a later generation, is left to a person,
// waits for its body, or the job is not believed. Skips a row that another transaction holds, so
// that a handler delays only its own event. `again`: inserted after the snapshot. A new event older
// than `:keysDays` may have been deleted since. An attempt that left no row gets one.
const RECORD = statement(
  `
WITH ${INCOMING},
run AS MATERIALIZED (
  SELECT r.*, r.generation > 0 OR :hasIdentity::bool OR ${IDENTITY_LOCK("r.source", "r.event_id")} AS is_free
  FROM unnest(:sources::text[], :eventIds::text[], :generations::int[], :bodyHashes::text[], :runs::text[], :uncounted::int[])
    AS r (source, event_id, generation, given_hash, run, uncounted)
),
held AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation, e.status, e.last_error, e.last_error_code,
    e.body_hash, e.digest, e.type, e.unsigned, e.received_at, e.refused, e.started_at, e.attempts AS before,
    e.next_attempt_at IS NULL AND e.waits < ${WAITS_LOGGED} AS is_interrupted, CASE e.attempts WHEN 0 THEN run.uncounted ELSE 0 END AS uncounted,
    CASE e.status WHEN 'failed' THEN e.failed_run IS NOT DISTINCT FROM run.run
      OR run.given_hash = '' OR e.last_error_code IN (${FINAL_CODES})
      OR (e.last_error_code = 'body_lost' AND NOT ${BODY_KEPT("e")}) OR EXISTS (
      SELECT FROM millrace.events l
      WHERE l.source = e.source AND l.event_id = e.event_id AND l.generation > e.generation
    ) END AS stays_failed
  FROM run JOIN millrace.events e USING (source, event_id, generation)
  WHERE run.is_free
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
),
counted AS (
  UPDATE millrace.events e SET
    status = 'pending',
    attempts = e.attempts + held.uncounted + 1,
    attempts_at_retry = held.uncounted
      + CASE held.status WHEN 'failed' THEN e.attempts ELSE e.attempts_at_retry END,
    enqueued_at = coalesce(e.enqueued_at, now()),
    pending_since = CASE
      WHEN held.status = 'failed' OR (e.attempts = 0 AND e.next_attempt_at IS NOT NULL) THEN now()
      ELSE e.pending_since END,
    started_at = clock_timestamp(),
    processed_at = NULL,
    failed_run = NULL,
    next_attempt_at = NULL
  FROM held
  WHERE e.source = held.source AND e.event_id = held.event_id AND e.generation = held.generation
    AND (held.status = 'pending' OR (held.status = 'failed' AND NOT held.stays_failed))
  RETURNING e.source, e.event_id, e.generation, e.attempts,
    e.attempts - e.attempts_at_retry AS since_retry, e.waits,
    (extract(epoch FROM now() - e.pending_since) * 1000)::float8 AS pending_for_ms
), ${INSERT_FRESH({
    join: "JOIN run USING (source, event_id, generation)",
    where: `run.is_free AND NOT ${IS_EXPIRED}`,
    uncounted: "run.uncounted",
  })}, interrupted AS (
  INSERT INTO millrace.attempts (source, event_id, generation, attempt, started_at, code, message, counted)
  SELECT source, event_id, generation, counted.attempts - 1, started_at, 'interrupted', ${INTERRUPTED}, before > 0
  FROM counted JOIN held USING (source, event_id, generation)
  WHERE status = 'pending' AND is_interrupted AND counted.attempts > 1
  UNION ALL
  SELECT source, event_id, generation, 1, NULL, 'interrupted', ${INTERRUPTED}, false FROM fresh WHERE attempts > 1
  ON CONFLICT DO NOTHING
)
SELECT i.source, i.event_id AS "eventId", i.generation,
  CASE
    WHEN counted.attempts IS NOT NULL OR fresh.body_id IS NOT NULL THEN 'claimed'
    WHEN NOT run.is_free THEN 'busy'
    WHEN held.status = 'completed' THEN 'completed'
    WHEN held.status = 'failed' THEN 'failed'
    WHEN i.known THEN 'busy'
    WHEN ${IS_EXPIRED} THEN 'identity_expired'
    WHEN i.body_from IS NULL THEN 'body_missing'
    ELSE 'again'
  END AS kind,
  coalesce(counted.attempts, fresh.attempts) AS attempt,
  coalesce(counted.since_retry, 1) AS "attemptSinceRetry",
  coalesce(counted.waits, 0) AS waits, coalesce(counted.pending_for_ms, 0) AS "pendingForMs",
  fresh.body_id IS NOT NULL AS "isNew",
  CASE WHEN fresh.refused THEN coalesce(${FIRST_OF_COPY("i")}, '{}')
    WHEN held.refused THEN coalesce(${FIRST_OF_COPY("held")}, '{}') END AS "copyOf",
  held.type, held.unsigned,
  floor(extract(epoch FROM held.received_at) * 1000)::float8 AS "receivedAtMs",
  held.last_error AS "lastError", held.last_error_code AS "lastErrorCode",
  CASE WHEN i.body_hash <> '' AND (
    held.body_hash <> i.body_hash OR held.type <> i.type OR held.unsigned <> i.unsigned
  ) THEN
    ${NOTE_CONFLICT("i")}
  END AS conflict
FROM incoming i
JOIN run USING (source, event_id, generation)
LEFT JOIN held USING (source, event_id, generation)
LEFT JOIN counted USING (source, event_id, generation)
LEFT JOIN fresh USING (source, event_id, generation)`,
  "millrace_record",
);

async function runRecord(
  ledger: LedgerContext,
  jobs: readonly EventJob[],
  { hasIdentity = false } = {},
): Promise<{ claims: Map<EventJob, Claim>; again: EventJob[] }> {
  const events = jobs.map(({ event }) => event);
  const rows = await sendEvents<RecordRow>(ledger, RECORD, events, {
    runs: jobs.map((job) => job.run),
    keysDays: ledger.keysDays,
    uncounted: jobs.map(({ startedBefore }) => (startedBefore === true ? 1 : 0)),
    hasIdentity,
  });
  const byKey = new Map(rows.map((row) => [keyText(row), row] as const));
  const claims = new Map<EventJob, Claim>();
  const again: EventJob[] = [];
  for (const job of jobs) {
    const row = byKey.get(keyText(job.event));
    if (row?.kind === "again" || row?.conflict === "taken") {
      again.push(job);
      continue;
    }
    const claim = row === undefined ? BUSY : toClaim(row);
    claims.set(job, row?.conflict === "conflict" ? { ...claim, conflict: true } : claim);
  }
  return { claims, again };
}

/** Records a first attempt while it runs, so that people see it; true when it is recorded. */
export async function recordRunning(ledger: LedgerContext, job: EventJob): Promise<boolean> {
  const { claims } = await runRecord(ledger, [job], { hasIdentity: true });
  const claim = claims.get(job);
  return claim?.kind === "claimed" && claim.attempt === 1 && claim.copyOf === undefined;
}

function toClaim(row: RecordRow): Claim {
  switch (row.kind) {
    case "claimed": {
      const { kind, attempt, attemptSinceRetry, waits, pendingForMs } = row;
      const copyOf = row.copyOf ?? undefined;
      const claim = { kind, attempt, attemptSinceRetry, waits, pendingForMs, copyOf };
      if (row.isNew) return { ...claim, isNew: true };
      const { type, unsigned, receivedAtMs } = row;
      if (type === null || unsigned === null || receivedAtMs === null) return claim;
      return { ...claim, stored: { type, unsigned, acceptedAtMs: receivedAtMs } };
    }
    case "completed":
    case "body_missing":
    case "identity_expired":
      return { kind: row.kind };
    case "failed":
      return { kind: row.kind, code: row.lastErrorCode ?? "gave_up", message: row.lastError ?? "" };
    default:
      return BUSY;
  }
}
