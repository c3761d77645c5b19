import { isStorable, type Claim, type ErrorCode, type QueuedEvent } from "@millrace/core";
import { messageOf } from "./database-trouble.ts";
import { compareKeys, keyText } from "./event-key.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { chunkEvents, packEvents } from "./pack-events.ts";
import { withPartitions } from "./partitions.ts";
import { RECORD } from "./sql/record.ts";
import { isDataError } from "./sqlstate.ts";
import { runStatement } from "./transaction.ts";

interface RecordRow {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  readonly kind: Claim["kind"] | "again";
  readonly attempt: number;
  readonly attempt_since_retry: number;
  readonly last_error: string | null;
  readonly last_error_code: ErrorCode | null;
  readonly conflict: true | null;
}

const BUSY: Claim = { kind: "busy" };

/**
 * Records jobs in one short commit of its own: one claim a job, in order. Repeats of an event within
 * the call are `busy`. An event that Postgres cannot hold fails alone, with `invalid_envelope`.
 *
 * @throws `database_unavailable`
 */
export async function record(
  ledger: LedgerContext,
  jobs: readonly QueuedEvent[],
): Promise<readonly Claim[]> {
  const first = new Map<string, QueuedEvent>();
  for (const job of jobs) {
    const key = keyText(job.event);
    if (!first.has(key) && isRecordable(job)) first.set(key, job);
  }
  const unique = [...first.values()].toSorted((a, b) => compareKeys(a.event, b.event));
  const claims = await recordParts(
    ledger,
    chunkEvents(unique, (job) => job.event),
  );
  return jobs.map((job) => {
    if (!isRecordable(job)) return unstorable("its text holds a NUL or half a surrogate pair");
    // Of repeats within the call the first is the one that was recorded.
    const claim = claims.get(job) ?? BUSY;
    claims.delete(job);
    return claim;
  });
}

function isRecordable({ event, run }: QueuedEvent): boolean {
  return [event.source, event.eventId, event.type, run].every(isStorable);
}

function unstorable(reason: string): Claim {
  return {
    kind: "failed",
    code: "invalid_envelope",
    message: `Cannot record the event: ${reason}`,
  };
}

async function recordChunk(
  ledger: LedgerContext,
  jobs: readonly QueuedEvent[],
): Promise<Map<QueuedEvent, Claim>> {
  try {
    return await recordOnce(ledger, jobs);
  } catch (error) {
    if (!isDataError(error)) throw error;
    const [only] = jobs;
    if (jobs.length === 1 && only !== undefined) {
      return new Map([[only, unstorable(messageOf(error))]]);
    }
    // One event's fault must not be the others'.
    return await recordParts(
      ledger,
      jobs.map((job) => [job]),
    );
  }
}

// What was recorded before the database went away stays recorded: those attempts are ours and run.
// The jobs that it did not come to are as good as busy.
async function recordParts(
  ledger: LedgerContext,
  parts: readonly (readonly QueuedEvent[])[],
): Promise<Map<QueuedEvent, Claim>> {
  const claims = new Map<QueuedEvent, Claim>();
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
  jobs: readonly QueuedEvent[],
): Promise<Map<QueuedEvent, Claim>> {
  const { claims, again } = await runRecord(ledger, jobs);
  if (again.length === 0) return claims;
  // The next snapshot sees the row that came in meanwhile.
  const second = await runRecord(ledger, again);
  for (const [job, claim] of second.claims) claims.set(job, claim);
  for (const job of second.again) claims.set(job, BUSY);
  return claims;
}

async function runRecord(
  ledger: LedgerContext,
  jobs: readonly QueuedEvent[],
): Promise<{ claims: Map<QueuedEvent, Claim>; again: QueuedEvent[] }> {
  const events = packEvents(jobs.map((job) => job.event));
  const values = [...events, jobs.map((job) => job.run), ledger.keysDays];
  const query = { name: "millrace_record", text: RECORD, values };
  const { rows } = await withPartitions(ledger.pool, () =>
    runStatement<RecordRow>(ledger.pool, query, ledger.short),
  );
  const byKey = new Map(
    rows.map((row) => [keyText({ ...row, eventId: row.event_id }), row] as const),
  );
  const claims = new Map<QueuedEvent, Claim>();
  const again: QueuedEvent[] = [];
  for (const job of jobs) {
    const row = byKey.get(keyText(job.event));
    if (row?.kind === "again") again.push(job);
    else claims.set(job, row === undefined ? BUSY : withConflict(toClaim(row), row));
  }
  return { claims, again };
}

function withConflict(claim: Claim, { conflict }: RecordRow): Claim {
  return conflict === true ? { ...claim, conflict } : claim;
}

function toClaim(row: RecordRow): Claim {
  switch (row.kind) {
    case "claimed":
      return { kind: "claimed", attempt: row.attempt, attemptSinceRetry: row.attempt_since_retry };
    case "completed":
      return { kind: "completed" };
    case "body_missing":
    case "identity_expired":
      return { kind: row.kind };
    case "failed":
      return {
        kind: "failed",
        code: row.last_error_code ?? "gave_up",
        message: row.last_error ?? "",
      };
    default:
      return BUSY;
  }
}
