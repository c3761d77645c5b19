// The guides' transaction, behind the queue that they advise for more traffic.
import { Worker } from "bullmq";
import pg from "pg";
import { processOnce } from "./guide.mjs";
import { usualBackend } from "./usual-queue.mjs";

const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 20);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: concurrency + 4 });
const { connection } = usualBackend();
const worker = new Worker(
  "usual",
  (job) => processOnce(pool, { eventId: job.id, type: job.data.type, payload: job.data }),
  { connection, concurrency },
);
await worker.waitUntilReady();
process.send({ kind: "listening", port: 0 });
