import { defineConfig, github, hookMesh, internal, standardWebhooks, stripe } from "millrace";
import * as schema from "./schema.ts";

export default defineConfig({
  // Each source is served at /webhooks/<name>; its secret comes from <NAME>_WEBHOOK_SECRET.
  sources: {
    hookmesh: hookMesh({ attempts: 8 }),
    stripe: stripe(),
    github: github(),
    standard: standardWebhooks(),
    // No sender reaches this one: the handlers emit its events.
    mail: internal({ attempts: 8 }),
  },
  // The store's tables, for `tx.query` and its types.
  schema,
  // A function, so that the ingress, which needs no handlers, never loads them.
  handlers: () => import("./handlers.ts"),
  // The store's own tables. `millrace migrate` and `millrace start` run them.
  migrations: "./migrations",
});
