// A worker on graphile-worker, with the batching that its page on performance advises.
import { Logger, run } from "graphile-worker";
import { handleOn } from "../shapes.mjs";

const concurrentJobs = Number(process.env.BENCH_CONCURRENCY ?? 20);

async function bench({ eventId }, { withPgClient }) {
  await withPgClient(async (client) => {
    await client.query("BEGIN");
    try {
      const { rowCount } = await client.query(
        "INSERT INTO processed_ids (event_id) VALUES ($1) ON CONFLICT DO NOTHING",
        [eventId],
      );
      if (rowCount === 1) await handleOn(client, eventId);
      await client.query("COMMIT");
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    }
  });
}

await run({
  connectionString: process.env.DATABASE_URL,
  maxPoolSize: concurrentJobs + 4,
  taskList: { bench },
  logger: new Logger(() => () => {}),
  preset: {
    worker: {
      concurrentJobs,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
});
process.send({ kind: "listening", port: 0 });
