import { defineConfig, github, hookMesh, standardWebhooks, stripe } from "millrace";

export default defineConfig({
  // Each source is served at /webhooks/<name>; its secret comes from <NAME>_WEBHOOK_SECRET.
  sources: {
    hookmesh: hookMesh({ attempts: 8 }),
    stripe: stripe(),
    github: github(),
    standard: standardWebhooks(),
  },
  // A function, so that the ingress, which needs no handlers, never loads them.
  handlers: () => import("./handlers.ts"),
  // The store's own tables. `millrace migrate` and `millrace start` run them.
  migrations: "./migrations",
});
