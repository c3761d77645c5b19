import { makeDay } from "../../support/aged-events.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { Fault } from "./fault.ts";

/** Older than bodies are kept. */
const AGE_DAYS = 40;
/** Times that the retention is run, as by a clock, for the days that are in use the first time. */
const RUNS = 4;

/** Lets the bodies of some events lie on an old day, whatever has become of the events. */
const AGE_BODIES = `
with chosen as (
  select source, event_id, generation, body_day, body_id from millrace.events
  where body_day > $1::date order by recorded_at desc limit 60 for update skip locked
),
copied as (
  insert into millrace.bodies (day, id, headers, body)
  select $1::date, b.id, b.headers, b.body from millrace.bodies b
  where (b.day, b.id) in (select body_day, body_id from chosen)
  on conflict do nothing
)
update millrace.events e set body_day = $1::date from chosen c
where e.source = c.source and e.event_id = c.event_id and e.generation = c.generation`;

/** F25: bodies grow old and the retention runs, while everything else goes on. */
export const retention: Fault = {
  id: "F25",
  title: "the retention moves and drops bodies of events under way",
  // It needs Postgres up to make bodies old; the processes may die as they like.
  uses: ["postgres"],
  ways: {
    bodies: async ({ environment }) => {
      const { day, bodies } = await ageBodies(environment);
      // The worker that leads may be at it just now, and does it then.
      for (let run = 0; run < RUNS && !(await isGone(environment, day)); run += 1) {
        await environment.command(["retention"]);
      }
      if (bodies > 0 && (await isGone(environment, day))) {
        environment.strike("F25", `dropped the day of ${bodies} bodies`);
      }
    },
  },
};

async function ageBodies({ database }: FaultEnvironment): Promise<{ day: string; bodies: number }> {
  const client = await database.connect();
  try {
    // Past the trigger that refuses to touch what is completed. A worker's own run sees all or nothing.
    await client.query("begin; set local session_replication_role = replica");
    const day = await makeDay(client, AGE_DAYS);
    const { rowCount } = await client.query(AGE_BODIES, [day]);
    await client.query("commit");
    return { day, bodies: rowCount ?? 0 };
  } finally {
    client.release(true);
  }
}

async function isGone({ database }: FaultEnvironment, day: string): Promise<boolean> {
  const { rows } = await database.query("select to_regclass($1) is null as gone", [
    `millrace.bodies_${day.replaceAll("-", "")}`,
  ]);
  return rows[0].gone === true;
}
