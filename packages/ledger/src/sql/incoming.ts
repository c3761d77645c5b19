/**
 * The events of one call as rows, from parallel arrays ($1 to $10) and all bodies in one binary
 * value ($11), which costs Postgres far less than an array of them. `known` is what the statement's
 * snapshot has of the event; it is looked up by LIMIT 1, because an EXISTS may be answered from a
 * hash of the whole table.
 */
export const INCOMING = `
incoming AS MATERIALIZED (
  SELECT i.*, (
    SELECT true FROM millrace.events e
    WHERE e.source = i.source AND e.event_id = i.event_id AND e.generation = i.generation
    LIMIT 1
  ) IS TRUE AS known
  FROM unnest(
    $1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::bool[], $7::float8[],
    $8::text[], $9::int[], $10::int[]
  ) AS i (
    source, event_id, generation, type, body_hash, unsigned, received_at_ms,
    headers, body_from, body_length
  )
)`;

/** What the first attempt adds to a new row: a job came for it, so there is one. */
interface FirstAttempt {
  /** Which of the new events are begun at all. */
  readonly where: string;
}

/** Inserts what is new, each body apart. Rows go in the key's order, so that two calls cannot
 * deadlock; a row that another call inserts at the same time is waited for and left out. */
export const INSERT_FRESH = (first?: FirstAttempt) => `
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id,
    attempts, started_at, enqueued_at
  )
  SELECT source, event_id, generation, type, body_hash, unsigned,
    to_timestamp(received_at_ms / 1000), nextval('millrace.body_id'),
    ${first === undefined ? "0, NULL::timestamptz, NULL::timestamptz" : "1, clock_timestamp(), now()"}
  FROM incoming
  WHERE NOT known AND body_from IS NOT NULL ${first === undefined ? "" : `AND ${first.where}`}
  ORDER BY source, event_id, generation
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, body_day, body_id
),
stored AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT fresh.body_day, fresh.body_id, incoming.headers::jsonb,
    substring($11::bytea FROM incoming.body_from FOR incoming.body_length)
  FROM fresh JOIN incoming USING (source, event_id, generation)
)`;
