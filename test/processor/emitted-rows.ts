import type { TestProcessors } from "./processor-fixture.ts";

interface EmittedRow {
  readonly event_id: string;
  readonly type: string;
  readonly status: string;
  /** Whether it may run now. */
  readonly due: boolean;
  /** The transaction that wrote it. */
  readonly transaction: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** What the handlers of an event of `shop` emitted, as the ledger has it. */
export function emittedRows(
  processors: TestProcessors,
  eventId: string,
  generation = 0,
): Promise<EmittedRow[]> {
  return processors.ask<EmittedRow>(
    `select e.event_id, e.type, e.status, e.xmin::text as transaction, b.headers, b.body,
       coalesce(e.next_attempt_at <= now(), true) as due
     from millrace.events e left join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
     where parent_source = 'shop' and parent_event_id = $1 and parent_generation = $2
     order by e.source, e.event_id`,
    [eventId, generation],
  );
}
