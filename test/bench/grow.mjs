// Rows as months of real events leave them: random ids, times and bodies spread over the days that bodies are
// kept, 1.4 kB each of which half does not compress.

const CHUNK = 50_000;
const DAYS = 30;
const POOL_BYTES = 1_000_000;
const RANDOM_BYTES = 700;

const POOL = `(SELECT string_agg(md5(n::text || random()), '') FROM generate_series(1, ${POOL_BYTES / 32}) n)`;
const HEAD = JSON.stringify({
  type: "bench.event",
  data: { object: { currency: "usd", status: "paid", lines: Array.from({ length: 16 }, line) } },
}).slice(0, -3);

function line(_, number) {
  return { sku: `A-${1_000 + number}`, amount: 100 * number };
}

const BODY = `'${HEAD},"note":"' || convert_from(substring(pool FROM
  (random() * ${POOL_BYTES - RANDOM_BYTES})::int + 1 FOR ${RANDOM_BYTES}), 'UTF8') || '"}}}'`;

export async function growLedger(query, rows, onProgress) {
  for (let ago = 0; ago < DAYS; ago += 1) await makeDay(query, ago);
  await inChunks(rows, onProgress, async (count) => {
    // Past the triggers, which refuse an event that begins as completed.
    await query(`
      BEGIN;
      SET LOCAL session_replication_role = replica;
      WITH random AS (SELECT convert_to(${POOL}, 'UTF8') AS pool),
      made AS MATERIALIZED (
        SELECT 'msg_' || gen_random_uuid() AS event_id, nextval('millrace.body_id') AS body_id,
          now() - random() * interval '${DAYS - 1} days' AS at,
          convert_to(${BODY}, 'UTF8') AS body
        FROM generate_series(1, ${count}), random
      ),
      events AS (
        INSERT INTO millrace.events (
          source, event_id, generation, type, body_hash, unsigned, status, outcome, attempts,
          recorded_at, received_at, pending_since, started_at, processed_at, enqueued_at,
          body_id, body_day
        )
        SELECT 'bench', event_id, 0, 'bench.event',
          rtrim(translate(encode(sha256(body), 'base64'), '+/', '-_'), '='),
          false, 'completed', 'handled', 1, at, at, at, at, at, at,
          body_id, (at AT TIME ZONE 'UTC')::date
        FROM made
      )
      INSERT INTO millrace.bodies (day, id, headers, body)
      SELECT (at AT TIME ZONE 'UTC')::date, body_id,
        '{"content-type":"application/json"}', body
      FROM made;
      COMMIT`);
  });
}

async function makeDay(query, ago) {
  const [{ day }] = await query(
    "SELECT ((now() AT TIME ZONE 'UTC')::date - $1::int)::text AS day",
    [ago],
  );
  const table = `millrace.bodies_${day.replaceAll("-", "")}`;
  const [{ known }] = await query("SELECT to_regclass($1) IS NOT NULL AS known", [table]);
  if (known) return;
  await query(`CREATE TABLE ${table} (LIKE millrace.bodies INCLUDING ALL)`);
  await query(
    `ALTER TABLE millrace.bodies ATTACH PARTITION ${table}
     FOR VALUES FROM ('${day}') TO (date '${day}' + 1)`,
  );
}

export async function growUsual(query, rows, onProgress) {
  await inChunks(rows, onProgress, (count) =>
    query(`
      WITH random AS (SELECT convert_to(${POOL}, 'UTF8') AS pool)
      INSERT INTO usual_events (event_id, type, body, status)
      SELECT 'msg_' || gen_random_uuid(), 'bench.event', (${BODY})::jsonb, 'completed'
      FROM generate_series(1, ${count}), random`),
  );
}

async function inChunks(rows, onProgress, insert) {
  for (let done = 0; done < rows;) {
    const count = Math.min(CHUNK, rows - done);
    await insert(count);
    done += count;
    if (done % (10 * CHUNK) === 0 || done === rows) onProgress(done);
  }
}
