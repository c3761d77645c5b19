import type { Deliveries, Delivery } from "@millrace/api-contract";
import { isStorable, type DeliveryOutcome, type EventLookup } from "@millrace/core";
import type pg from "pg";
import { read, type LedgerContext } from "../connection/ledger-context.ts";

export interface RepeatedDelivery extends EventLookup {
  readonly outcome: DeliveryOutcome;
  readonly atMs: number;
}

const RECENT_MAX = 10;

/** One short text ($1), whose rows Postgres takes apart: the least work for the ingress. */
const NOTE_DELIVERIES = `
INSERT INTO millrace.deliveries AS d (source, event_id, repeats, recent)
SELECT one ->> 0, one ->> 1, (one ->> 2)::integer, (
  SELECT jsonb_agg(jsonb_build_object('at', came -> 0, 'outcome', came -> 1, 'ingress', $2::text))
  FROM jsonb_array_elements(one -> 3) AS came
)
FROM jsonb_array_elements($1::jsonb) AS one
ORDER BY one ->> 0, one ->> 1
ON CONFLICT (source, event_id) DO UPDATE SET
  repeats = d.repeats + excluded.repeats,
  recent = (
    SELECT jsonb_agg(one) FROM (
      SELECT one FROM jsonb_array_elements(d.recent || excluded.recent) AS one
      ORDER BY (one ->> 'at')::bigint DESC LIMIT ${RECENT_MAX}
    ) AS newest
  )`;

/** Counts redeliveries, and keeps the last ten of each event. `ingress` is the receiving host. */
export async function noteDeliveries(
  ledger: LedgerContext,
  ingress: string,
  repeated: readonly RepeatedDelivery[],
): Promise<void> {
  const rows = new Map<string, NotedEvent>();
  for (const { source, eventId, outcome, atMs } of repeated) {
    if (!isStorable(source) || !isStorable(eventId)) continue;
    const name = `${source}\0${eventId}`;
    const row = rows.get(name) ?? [source, eventId, 0, []];
    rows.set(name, row);
    row[2] += 1;
    const recent = row[3];
    recent.unshift([atMs, outcome]);
    if (recent.length > RECENT_MAX) recent.pop();
  }
  if (rows.size === 0) return;
  const values = [JSON.stringify([...rows.values()]), ingress];
  await ledger.send({ text: NOTE_DELIVERIES, values });
}

type NotedEvent = [
  source: string,
  eventId: string,
  repeats: number,
  recent: [atMs: number, outcome: DeliveryOutcome][],
];

/** `firstAtMs` is the first receipt; undefined for an event that a handler emitted. */
export async function findDeliveries(
  ledger: LedgerContext,
  lookup: EventLookup,
  firstAtMs: number | undefined,
): Promise<Deliveries> {
  return await read(ledger, (client) => selectDeliveries(client, lookup, firstAtMs));
}

type StoredDelivery = Omit<Delivery, "at"> & { readonly at: number };

type Noted = { readonly repeats: number; readonly recent: readonly StoredDelivery[] };

const DELIVERIES = `
SELECT repeats, recent FROM millrace.deliveries WHERE source = $1 AND event_id = $2`;

export async function selectDeliveries(
  client: pg.ClientBase,
  { source, eventId }: EventLookup,
  firstAtMs: number | undefined,
): Promise<Deliveries> {
  const [noted] = (await client.query<Noted>(DELIVERIES, [source, eventId])).rows;
  const total = (firstAtMs === undefined ? 0 : 1) + (noted?.repeats ?? 0);
  const first = { at: firstAtMs ?? NaN, outcome: "accepted", ingress: null } as const;
  const all = [...(noted?.recent ?? []), first];
  // A job's time may have been written by hand.
  const recent = all.filter(({ at }) => !Number.isNaN(new Date(at).getTime()));
  return { total, recent: recent.slice(0, RECENT_MAX).map(toDelivery) };
}

const toDelivery = ({ at, ...delivery }: StoredDelivery): Delivery => ({
  at: new Date(at).toISOString(),
  ...delivery,
});
