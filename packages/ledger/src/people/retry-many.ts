import { BODY_KEPT } from "../schema/bodies.ts";
import type { EnvelopedEvent, EventKey } from "@millrace/core";
import { isStorableKey, keyText, packKeys } from "../claims/event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { IS_DELAYED } from "../reads/find-events.ts";
import { eventColumn } from "../repair/ledger-status.ts";

export type RetryManyAnswer =
  /** `retried`: the caller enqueues or promotes its job. `pending` before: no change. */
  | { readonly kind: "retried" | "pending"; readonly event: EnvelopedEvent }
  | { readonly kind: "completed" | "not_found" | "body_missing" };

/**
 * Makes failed events pending again, with their attempts at zero; with `endsDelay` the next
 * attempt of pending ones does not wait longer. One answer for each key, in order. Of two calls at
 * once, one retries an event. Until its job is noted, the reconciler adds or promotes it.
 */
export async function retryMany(
  { send }: Pick<LedgerContext, "send">,
  keys: readonly EventKey[],
  { dryRun = false, endsDelay = false }: { dryRun?: boolean; endsDelay?: boolean } = {},
): Promise<readonly RetryManyAnswer[]> {
  const wanted = new Map(keys.filter(isStorableKey).map((key) => [keyText(key), key] as const));
  const found = new Map<string, Row>();
  const ask = async (asked: readonly EventKey[]) => {
    const values = [...packKeys(asked), dryRun];
    const { rows } = await send<Row>({ ...(endsDelay ? RETRY_OR_PROMOTE : RETRY), values });
    for (const row of rows) found.set(keyText(row.event), row);
  };
  await ask([...wanted.values()]);
  const again = [...wanted].filter(([name]) => found.get(name)?.kind === "again");
  // The next snapshot sees what another transaction did to these while this one waited for them.
  if (again.length > 0) await ask(again.map(([, key]) => key));
  return keys.map((key) => {
    const row = found.get(keyText(key));
    if (row === undefined) return { kind: "not_found" };
    const kind = row.kind === "again" ? "pending" : row.kind;
    return kind === "retried" || kind === "pending" ? { kind, event: row.event } : { kind };
  });
}

interface Row {
  readonly event: EnvelopedEvent;
  readonly kind: Exclude<RetryManyAnswer["kind"], "not_found"> | "again";
}

// $4: a dry run. `again`: changed after the snapshot.
const retryQuery = (promoted: string, isPromoted: string) => `
WITH wanted AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
),
target AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM wanted JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status = 'failed' AND NOT $4::bool AND ${BODY_KEPT("e")}
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e
),
retried AS (
  UPDATE millrace.events e
  SET status = 'pending', attempts_at_retry = e.attempts, pending_since = now(),
    processed_at = NULL, failed_run = NULL, enqueued_at = NULL,
    refused = CASE WHEN NOT e.refused THEN false END
  FROM target t
  WHERE e.source = t.source AND e.event_id = t.event_id AND e.generation = t.generation
  RETURNING e.source, e.event_id, e.generation
)${promoted}
SELECT ${eventColumn("e")},
  CASE
    WHEN r.source IS NOT NULL OR ${isPromoted} THEN 'retried'
    WHEN NOT ${BODY_KEPT("e")} THEN 'body_missing'
    WHEN e.status <> 'failed' THEN e.status
    WHEN $4::bool THEN 'retried'
    ELSE 'again'
  END AS kind
FROM wanted JOIN millrace.events e USING (source, event_id, generation)
LEFT JOIN retried r USING (source, event_id, generation)`;

/** Waits for no handler. */
const PROMOTED = `,
delayed AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM wanted JOIN millrace.events e USING (source, event_id, generation)
  WHERE ${IS_DELAYED} AND NOT $4::bool AND ${BODY_KEPT("e")}
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
),
promoted AS (
  UPDATE millrace.events e
  SET next_attempt_at = NULL, enqueued_at = NULL
  FROM delayed d
  WHERE e.source = d.source AND e.event_id = d.event_id AND e.generation = d.generation
  RETURNING e.source, e.event_id, e.generation
)`;
const IS_PROMOTED =
  "(e.source, e.event_id, e.generation) IN (SELECT source, event_id, generation FROM promoted)";

/** An ingress has no right to change when the next attempt is due. */
const RETRY = { name: "millrace_retry_many", text: retryQuery("", "false") };
const RETRY_OR_PROMOTE = {
  name: "millrace_retry_or_promote",
  text: retryQuery(PROMOTED, IS_PROMOTED),
};
