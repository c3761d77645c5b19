import type { Pool } from "pg";
import type { ServerUrls } from "../support/server-urls.ts";
import { redisText, withRedis } from "../support/redis-client.ts";

export interface EventState {
  readonly status: "pending" | "completed" | "failed";
  readonly outcome: string | null;
  readonly last_error: string | null;
}

type Key = [source: string, eventId: string];

export function createStored(database: Pool, { redisUrl }: ServerUrls) {
  const all = async (text: string, values: unknown[] = []) =>
    (await database.query(text, values)).rows;
  return {
    stateOf: async (...key: Key): Promise<EventState | undefined> => {
      const [row] = await all(
        "select status, outcome, last_error from webhook_events where (source, event_id) = ($1, $2)",
        key,
      );
      return row;
    },
    bodyOf: async (...key: Key): Promise<Buffer | undefined> => {
      const [row] = await all(
        `select b.body from millrace.events e
           join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
          where (e.source, e.event_id) = ($1, $2)`,
        key,
      );
      return row?.body;
    },
    payloadOf: async (...key: Key): Promise<unknown> => {
      const [row] = await all(
        "select payload from webhook_events where (source, event_id) = ($1, $2)",
        key,
      );
      return row?.payload;
    },
    effectsOf: async (...key: Key): Promise<number> => {
      const [row] = await all(
        "select count(*)::int from effects where (source, event_id) = ($1, $2)",
        key,
      );
      return row.count;
    },
    events: (): Promise<readonly (EventState & { event: string; effects: number })[]> =>
      all(
        `select source || '/' || event_id as event, status, outcome, last_error,
                (select count(*)::int from effects x
                  where (x.source, x.event_id) = (e.source, e.event_id)) as effects
           from webhook_events e`,
      ),
    storedText: async () => {
      const jobs =
        redisUrl === undefined
          ? await all("select to_jsonb(j) as row from bullmq.job j")
          : await withRedis(redisUrl, redisText);
      return JSON.stringify([
        await all("select to_jsonb(e) as row from millrace.events e"),
        await all("select b.headers, encode(b.body, 'escape') as body from millrace.bodies b"),
        jobs,
      ]);
    },
  };
}
