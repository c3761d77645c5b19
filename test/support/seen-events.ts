import type pg from "pg";

/** An event as the view shows it. */
export interface SeenEvent {
  readonly status: string;
  readonly outcome: string | null;
  readonly attempts: number;
  readonly last_error: string | null;
}

/** How tests look at one event: its row, and the effects that its handlers left in `effects`. */
export interface SeenEvents {
  row(eventId: string): Promise<SeenEvent | undefined>;
  effects(eventId: string): Promise<number>;
}

export function seenEvents(pool: pg.Pool): SeenEvents {
  return {
    row: async (eventId) => {
      const { rows } = await pool.query<SeenEvent>(
        "select status, outcome, attempts, last_error from webhook_events where event_id = $1",
        [eventId],
      );
      return rows[0];
    },
    effects: async (eventId) => {
      const { rows } = await pool.query<{ n: number }>(
        "select count(*)::int as n from effects where event_id = $1",
        [eventId],
      );
      return rows[0]?.n ?? -1;
    },
  };
}
