// A worker on pg-boss: batches, `notifyWorker` so that a full batch is followed by the next one at once, and
// the job is completed in the handler's transaction (`complete` with `db`), so that its writes happen once.
import pg from "pg";
import { handleOn } from "../shapes.mjs";
import { inTransaction } from "./in-transaction.mjs";
import { QUEUE, startBoss } from "./pg-boss-queue.mjs";

const BATCH = 100;
const LOOPS = 2;

const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 20);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: concurrency });
const boss = await startBoss(process.env.DATABASE_URL, { supervise: true });

async function runJob(job) {
  try {
    await inTransaction(pool, async (client) => {
      await handleOn(client, job.data.eventId);
      const db = { executeSql: (text, values) => client.query(text, values) };
      await boss.complete(QUEUE, job.id, undefined, { db });
    });
  } catch (error) {
    await boss.fail(QUEUE, job.id, error);
  }
}

async function loop() {
  const options = { batchSize: BATCH, pollingIntervalSeconds: 0.5 };
  const id = await boss.work(QUEUE, options, async (jobs) => {
    if (jobs.length === BATCH) boss.notifyWorker(id);
    const waiting = [...jobs];
    const runInTurn = async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await runJob(job);
    };
    await Promise.all(Array.from({ length: concurrency / LOOPS }, runInTurn));
  });
}
await Promise.all(Array.from({ length: LOOPS }, loop));
process.send({ kind: "listening", port: 0 });
