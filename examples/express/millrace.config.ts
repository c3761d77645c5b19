import { defineConfig, on, stripe } from "millrace";

export default defineConfig({
  sources: { stripe: stripe() },
  // Run by `npx millrace worker`; the app only takes events in.
  handlers: [
    on("stripe", "payment_intent.succeeded", async (event, { tx }) => {
      await tx.execute("select 1");
    }),
  ],
});
