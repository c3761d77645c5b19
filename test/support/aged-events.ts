export interface Database {
  query(text: string, values?: unknown[]): Promise<{ rows: readonly Record<string, unknown>[] }>;
}

export async function makeDay(database: Database, daysAgo: number): Promise<string> {
  const { rows } = await database.query(
    "SELECT ((now() AT TIME ZONE 'UTC')::date - $1::int)::text AS day",
    [daysAgo],
  );
  const day = String(rows[0]?.["day"]);
  const table = `millrace.bodies_${day.replaceAll("-", "")}`;
  const known = await database.query("SELECT to_regclass($1) IS NOT NULL AS known", [table]);
  if (known.rows[0]?.["known"] === true) return day;
  await database.query(`CREATE TABLE ${table} (LIKE millrace.bodies INCLUDING ALL)`);
  await database.query(
    `ALTER TABLE millrace.bodies ATTACH PARTITION ${table}
     FOR VALUES FROM ('${day}') TO (date '${day}' + 1)`,
  );
  return day;
}

/**
 * Makes an event, all generations of it, that many days older than it is, as if the database's clock
 * had stood so far back each time that something was done to it. Without an id: every event.
 */
export async function age(database: Database, days: number, eventId?: string): Promise<void> {
  const which = eventId === undefined ? "true" : `event_id = '${eventId}'`;
  const { rows } = await database.query(
    `SELECT DISTINCT (now() AT TIME ZONE 'UTC')::date - body_day AS ago
     FROM millrace.events WHERE ${which}`,
  );
  for (const { ago } of rows) await makeDay(database, Number(ago) + days);
  // Past the triggers, which refuse to touch what is completed.
  await database.query(`
    BEGIN;
    SET LOCAL session_replication_role = replica;
    UPDATE millrace.bodies b SET day = b.day - ${days}
    FROM (SELECT DISTINCT body_day, body_id FROM millrace.events WHERE ${which}) e
    WHERE b.day = e.body_day AND b.id = e.body_id;
    UPDATE millrace.events SET
      recorded_at = recorded_at - interval '${days * 24} hours',
      received_at = received_at - interval '${days * 24} hours',
      pending_since = pending_since - interval '${days * 24} hours',
      started_at = started_at - interval '${days * 24} hours',
      processed_at = processed_at - interval '${days * 24} hours',
      body_day = body_day - ${days}
    WHERE ${which};
    COMMIT`);
}
