import { sql } from "drizzle-orm";
import { on } from "millrace";
import { handle } from "../loads.mjs";

const HANDLERS = {
  insert: on("bench", "*", async (event, { tx }) => {
    await tx.execute(sql`INSERT INTO effects (event_id) VALUES (${event.id})`);
  }),
  set: on("bench", "*", { batch: 100 }, async (events, { tx }) => {
    const ids = sql.param(events.map(({ id }) => id));
    await tx.execute(sql`INSERT INTO effects (event_id) SELECT unnest(${ids}::text[])`);
  }),
};
const load = process.env.BENCH_LOAD ?? "insert";

export default [
  HANDLERS[load] ??
    on("bench", "*", (event, { tx }) =>
      handle(event.id, (text, values) => tx.execute(filled(text, values))),
    ),
];

/** A text with $1, $2 ... as drizzle's template. */
function filled(text, values) {
  const [first, ...rest] = text.split(/\$\d+/);
  return rest.reduce(
    (statement, part, index) => sql`${statement}${values[index]}${sql.raw(part)}`,
    sql.raw(first),
  );
}
