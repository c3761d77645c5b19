-- Prints each event whose body is of a day as a line of JSON, for an archive outside of Postgres:
--   psql "$DATABASE_URL" -v day=2026-11-20 -f infra/postgres/archive-day.sql | gzip > 2026-11-20.jsonl.gz
-- Run it once the day is over. Workers drop its bodies `retention.bodiesDays` later.
\set QUIET on
\set ON_ERROR_STOP on
\pset tuples_only on
\pset format unaligned
-- A page at a time, so that psql does not hold a day in memory.
\set FETCH_COUNT 500
SELECT jsonb_build_object(
  'source', e.source, 'event_id', e.event_id, 'generation', e.generation, 'type', e.type,
  'received_at', e.received_at, 'recorded_at', e.recorded_at, 'body_hash', e.body_hash,
  'headers', coalesce(e.own_headers, b.headers),
  'body_base64', translate(encode(b.body, 'base64'), E'\n', '')
)
FROM millrace.events e JOIN millrace.bodies b ON b.day = e.body_day AND b.id = e.body_id
WHERE e.body_day = :'day'::date;
