import { defineConfig, standardWebhooks } from "millrace";

export default defineConfig({
  sources: { bench: standardWebhooks() },
  handlers: () => import("./handlers.mjs"),
  migrations: "./migrations",
});
