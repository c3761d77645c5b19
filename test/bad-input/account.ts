import type { Pool } from "pg";
import { expect } from "vitest";
import { until } from "../support/until.ts";

/** I1 and I2: what was acknowledged is settled, and nothing else is there. I3: its effect is one. */
export async function account(
  database: Pool,
  { taken, forged }: { taken: ReadonlySet<string>; forged: ReadonlySet<string> },
): Promise<void> {
  const good = [...taken].filter((event) => !forged.has(event));
  const rows = await until(async () => {
    const found = await database.query(
      `select source || '/' || event_id as event, status, outcome,
              (select count(*)::int from effects x
                where (x.source, x.event_id) = (e.source, e.event_id)) as effects
         from webhook_events e`,
    );
    const settled = found.rows.filter(({ status }) => status !== "pending");
    return settled.length >= good.length ? found.rows : undefined;
  });
  const others = rows.filter(({ event }) => !forged.has(event));
  expect(new Set(others.map(({ event }) => event))).toEqual(new Set(good));
  const wrong = rows.filter(({ status, outcome, effects }) => {
    return effects !== (status === "completed" && outcome === "handled" ? 1 : 0);
  });
  expect(wrong).toEqual([]);
}
