import { defineConfig, internal, standardWebhooks } from "millrace";

export default defineConfig({
  // Failed attempts of the benchmark come again at once, as in the contenders.
  sources: {
    bench: standardWebhooks({
      ack: process.env.BENCH_ACK === "ledger" ? "ledger" : "queue",
      groups: process.env.BENCH_GROUPS !== "false",
      backoff: { firstMs: 0, factor: 1, maxMs: 0 },
      queueDepthMax: Number(process.env.BENCH_QUEUE_DEPTH_MAX ?? 100_000),
    }),
    // A further source takes some CPU: only where something is emitted.
    ...(process.env.BENCH_SHAPE === "emit" && { emitted: internal() }),
  },
  worker: { concurrency: Number(process.env.BENCH_CONCURRENCY ?? 20) },
  handlers: () => import("./handlers.mjs"),
  migrations: "./migrations",
});
