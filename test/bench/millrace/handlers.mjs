import { sql } from "drizzle-orm";
import { on } from "millrace";

export default [
  on("bench", "*", async (event, { tx }) => {
    await tx.execute(sql`INSERT INTO effects (event_id) VALUES (${event.id})`);
  }),
];
