import type pg from "pg";

export const LATEST_EVENTS = 10_000;

// No index has the type: reads the latest rows by the index of their time.
const LATEST_TYPES = `
SELECT DISTINCT source, type FROM (
  SELECT source, type FROM millrace.events ORDER BY recorded_at DESC LIMIT ${LATEST_EVENTS}
) latest`;

export async function latestTypes(pool: pg.Pool): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<{ source: string; type: string }>(LATEST_TYPES);
  const types = new Map<string, string[]>();
  for (const { source, type } of rows) {
    const of = types.get(source);
    if (of === undefined) types.set(source, [type]);
    else of.push(type);
  }
  return types;
}
