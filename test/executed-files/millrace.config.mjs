import { sql } from "drizzle-orm";
import { defineConfig, on, stripe } from "millrace";

export default defineConfig({
  sources: { stripe: stripe() },
  handlers: [
    on("stripe", "payment_intent.succeeded", async (event, { tx }) => {
      await tx.execute(sql`insert into effects values (${event.id})`);
    }),
  ],
});
