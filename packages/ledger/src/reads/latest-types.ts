import type pg from "pg";

export const LATEST_EVENTS = 10_000;

// No index has the type: reads the latest rows by the index of their time.
const LATEST_TYPES = `
SELECT source, array_agg(DISTINCT type) AS types FROM (
  SELECT source, type FROM millrace.events ORDER BY recorded_at DESC LIMIT ${LATEST_EVENTS}
) latest GROUP BY source`;

export async function latestTypes(pool: pg.Pool): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<{ source: string; types: string[] }>(LATEST_TYPES);
  return new Map(rows.map(({ source, types }) => [source, types]));
}
