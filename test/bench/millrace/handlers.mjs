import { sql } from "drizzle-orm";
import { on } from "millrace";
import { handle } from "../shapes.mjs";

const insert = async (event, { tx }) => {
  await tx.execute(sql`INSERT INTO effects (event_id) VALUES (${event.id})`);
};
const callOther = async (signal) => {
  const response = await fetch(process.env.BENCH_CALL_URL, { signal });
  await response.arrayBuffer();
};

const HANDLERS = {
  insert: on("bench", "*", insert),
  set: on("bench", "*", { batch: 100 }, async (events, { tx }) => {
    const ids = sql.param(events.map(({ id }) => id));
    await tx.execute(sql`INSERT INTO effects (event_id) SELECT unnest(${ids}::text[])`);
  }),
  "call inside": on("bench", "*", async (event, context) => {
    await callOther(context.signal);
    await insert(event, context);
  }),
  "call before": on("bench", "*", {
    call: (_event, { signal }) => callOther(signal),
    write: insert,
  }),
  emit: [
    on("bench", "*", async (event, context) => {
      await insert(event, context);
      await context.emit("emitted", "bench.emitted", {});
    }),
    on("emitted", "*", insert),
  ],
};
const shape = process.env.BENCH_SHAPE ?? "insert";

export default [
  HANDLERS[shape] ??
    on("bench", "*", (event, { tx }) =>
      handle({
        eventId: event.id,
        query: (text, values) => tx.execute(filled(text, values)),
        db: () => tx,
      }),
    ),
].flat();

function filled(text, values) {
  const [first, ...rest] = text.split(/\$\d+/);
  return rest.reduce(
    (statement, part, index) => sql`${statement}${values[index]}${sql.raw(part)}`,
    sql.raw(first),
  );
}
