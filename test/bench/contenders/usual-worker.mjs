// The workers that people write by hand: one transaction an event. `BENCH_USUAL` says which:
// "ids" keeps the ids of events, in four round trips; "prepared" is the same with named statements;
// "rows" keeps what Millrace keeps, body and status, in five.
import { Worker } from "bullmq";
import pg from "pg";
import { handleOn } from "../shapes.mjs";
import { inTransaction } from "./in-transaction.mjs";
import { usualBackend } from "./usual-queue.mjs";

const concurrency = Number(process.env.BENCH_CONCURRENCY ?? 20);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: concurrency + 4 });
const { connection, factory } = usualBackend();

const INSERT_ID = "INSERT INTO processed_ids (event_id) VALUES ($1) ON CONFLICT DO NOTHING";

// Postgres cuts longer names.
const names = new Map();
const nameOf = (text) => names.get(text) ?? names.set(text, `usual_${names.size}`).get(text);

const WAYS = {
  ids: async (client, { id }) => {
    const { rowCount } = await client.query(INSERT_ID, [id]);
    if (rowCount === 1) await handleOn(client, id);
  },
  prepared: async (client, { id }) => {
    // Drizzle gives an object, with its row mode.
    const query = (asked, values) => {
      const statement = typeof asked === "string" ? { text: asked } : asked;
      return client.query({ ...statement, name: nameOf(statement.text), values });
    };
    const { rowCount } = await query(INSERT_ID, [id]);
    if (rowCount === 1) await handleOn({ query }, id);
  },
  rows: async (client, { id, data }) => {
    const { rowCount } = await client.query(
      `INSERT INTO usual_events (event_id, type, body) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING`,
      [id, data.type, JSON.stringify(data)],
    );
    if (rowCount !== 1) return;
    await handleOn(client, id);
    await client.query("UPDATE usual_events SET status = 'completed' WHERE event_id = $1", [id]);
  },
};
const way = WAYS[process.env.BENCH_USUAL ?? "ids"];

const handleJob = (job) => inTransaction(pool, (client) => way(client, job));
const worker = new Worker("usual", handleJob, { connection, concurrency }, factory);
await worker.waitUntilReady();
process.send({ kind: "listening", port: 0 });
