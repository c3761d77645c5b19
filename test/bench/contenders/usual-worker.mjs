// The worker that people write by hand: one transaction an event, five round trips.
import { Worker } from "bullmq";
import pg from "pg";
import { handle as handleLoad } from "../loads.mjs";
import { inTransaction } from "./in-transaction.mjs";
import { usualBackend } from "./usual-queue.mjs";

const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 20);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: concurrency + 4 });
const { connection, factory } = usualBackend();

const handle = (job) =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `INSERT INTO usual_events (event_id, type, body) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING`,
      [job.id, job.data.type, JSON.stringify(job.data)],
    );
    if (rowCount !== 1) return;
    await handleLoad(job.id, (text, values) => client.query(text, values));
    await client.query("UPDATE usual_events SET status = 'completed' WHERE event_id = $1", [
      job.id,
    ]);
  });
const worker = new Worker("usual", handle, { connection, concurrency }, factory);
await worker.waitUntilReady();
process.send({ kind: "listening", port: 0 });
