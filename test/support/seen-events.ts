import type pg from "pg";
import { until } from "./until.ts";

export interface SeenEvent {
  readonly status: string;
  readonly outcome: string | null;
  readonly attempts: number;
  readonly last_error: string | null;
}

export const seenEvents = (pool: pg.Pool) => ({
  row: (id: string) => eventOf(pool, id),
  effects: (id: string) => effectsOf(pool, id),
});

export async function eventOf(pool: pg.Pool, id: string): Promise<SeenEvent | undefined> {
  const { rows } = await pool.query<SeenEvent>(
    "select status, outcome, attempts, last_error from webhook_events where event_id = $1",
    [id],
  );
  return rows[0];
}

export function reaches(
  pool: pg.Pool,
  id: string,
  status: string,
  { withinMs }: { withinMs?: number } = {},
): Promise<SeenEvent> {
  const isThere = async () => {
    const event = await eventOf(pool, id);
    return event?.status === status && event;
  };
  return until(isThere, { what: `${id} ${status}`, ...(withinMs && { withinMs }) });
}

export async function effectsOf(pool: pg.Pool, id: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    "select count(*)::int as n from effects where event_id = $1",
    [id],
  );
  return rows[0]?.n ?? -1;
}
