import { defineConfig, standardWebhooks } from "millrace";

export default defineConfig({
  // Failed attempts of the benchmark come again at once, as in the contenders.
  sources: { bench: standardWebhooks({ backoff: { firstMs: 0, factor: 1, maxMs: 0 } }) },
  worker: { concurrency: Number(process.env.BENCH_CONCURRENCY ?? 20) },
  handlers: () => import("./handlers.mjs"),
  migrations: "./migrations",
});
