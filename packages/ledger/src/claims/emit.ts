import type { EmittedEvent, EventLookup } from "@millrace/core";
import type pg from "pg";
import { chunkBySize, packEvents } from "./event-batch.ts";
import { statement } from "../connection/statement.ts";
import { REFUSE_TRANSACTION, runStatement } from "../connection/transaction.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { withPartitions } from "../schema/bodies.ts";

/** Events that handlers emit, written at the end; behind a savepoint at once, to be undone too. */
export class Emitted {
  bytes = 0;
  readonly #events: { readonly event: EmittedEvent; readonly isWritten: boolean }[] = [];
  readonly #names = new Set<string>();

  get all(): readonly EmittedEvent[] {
    return this.#events.map(({ event }) => event);
  }

  get unwritten(): readonly EmittedEvent[] {
    return this.#events.filter(({ isWritten }) => !isWritten).map(({ event }) => event);
  }

  get count(): number {
    return this.#events.length;
  }

  countOf(source: string, type: string): number {
    return this.#events.filter(({ event }) => event.source === source && event.type === type)
      .length;
  }

  has(event: EventLookup): boolean {
    return this.#names.has(nameOf(event));
  }

  add(event: EmittedEvent, { isWritten }: { readonly isWritten: boolean }): void {
    this.#events.push({ event, isWritten });
    this.#names.add(nameOf(event));
    this.bytes += event.body.byteLength;
  }

  keep(count: number): void {
    for (const { event } of this.#events.splice(count)) {
      this.#names.delete(nameOf(event));
      this.bytes -= event.body.byteLength;
    }
  }
}

function nameOf({ source, eventId }: EventLookup): string {
  return `${source}\0${eventId}`;
}

export interface EmitTarget {
  readonly emitted: Emitted;
  /** @throws `tx_closed` */
  emit(event: EmittedEvent): Promise<void>;
}

// `:transactionId` is null for a savepoint. A known event stays as it is: its parent's identity was
// forgotten, and the parent came again. One that failed as `body_lost` is pending again.
const EMIT = statement(
  `
WITH mine AS MATERIALIZED (
  SELECT CASE WHEN coalesce(pg_current_xact_id() = :transactionId::xid8, true) THEN clock_timestamp()
    ELSE (CASE WHEN ${REFUSE_TRANSACTION} THEN NULL END)::timestamptz
  END AS at
),
given AS MATERIALIZED (
  SELECT i.*, at, nextval('millrace.body_id') AS body_id
  FROM mine CROSS JOIN unnest(
    :sources::text[], :eventIds::text[], :types::text[], :bodyHashes::text[], :receivedAtMs::float8[], :headers::text[], :bodyFrom::int[], :bodyLength::int[],
    :finds::text[], :afterMs::float8[], :parentSources::text[], :parentIds::text[], :parentGenerations::int[]
  ) AS i (
    source, event_id, type, body_hash, received_at_ms, headers, body_from, body_length,
    find, after_ms, parent_source, parent_event_id, parent_generation
  )
),
inserted AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, recorded_at, pending_since,
    body_id, body_day, find, next_attempt_at, parent_source, parent_event_id, parent_generation
  )
  SELECT source, event_id, 0, type, body_hash, false, to_timestamp(received_at_ms / 1000), at, at,
    body_id, (at AT TIME ZONE 'UTC')::date, find::text[],
    CASE WHEN after_ms > 0 THEN at + make_interval(secs => after_ms / 1000) END,
    parent_source, parent_event_id, parent_generation
  FROM given
  ORDER BY source, event_id
  ON CONFLICT (source, event_id, generation) DO UPDATE
  SET status = 'pending', processed_at = NULL, failed_run = NULL, enqueued_at = NULL,
    pending_since = excluded.pending_since, attempts_at_retry = events.attempts, waits = 0,
    body_id = excluded.body_id, body_day = excluded.body_day, find = excluded.find,
    next_attempt_at = excluded.next_attempt_at,
    parent_source = excluded.parent_source, parent_event_id = excluded.parent_event_id,
    parent_generation = excluded.parent_generation
  WHERE events.status = 'failed' AND events.last_error_code = 'body_lost'
  RETURNING source, event_id, body_day, body_id
)
INSERT INTO millrace.bodies (day, id, headers, body)
SELECT body_day, body_id, headers::jsonb, substring(:bodies::bytea FROM body_from FOR body_length)
FROM inserted JOIN given USING (source, event_id, body_id)`,
  "millrace_emit",
);

export function emitStatements(
  ledger: Pick<LedgerContext, "find">,
  events: readonly EmittedEvent[],
  transactionId: string | null,
): pg.QueryConfig[] {
  if (events.length === 0) return [];
  return chunkBySize(events, (event) => event).map((chunk) =>
    EMIT({
      ...packEvents(ledger, chunk),
      transactionId,
      afterMs: chunk.map(({ afterMs }) => afterMs),
      parentSources: chunk.map(({ parent }) => parent?.source),
      parentIds: chunk.map(({ parent }) => parent?.eventId),
      parentGenerations: chunk.map(({ parent }) => parent?.generation),
    }),
  );
}

/** Emits events that no handler did; those that are known stay. The reconciler enqueues them. */
export async function emitAlerts(
  ledger: LedgerContext,
  events: readonly EmittedEvent[],
): Promise<void> {
  for (const query of emitStatements(ledger, events, null)) {
    await withPartitions(ledger.pool, () => runStatement(ledger.pool, query, ledger.prepared));
  }
}
