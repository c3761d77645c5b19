// What no worker on BullMQ can beat here: a handler that does nothing.
import { Worker } from "bullmq";

const { hostname, port } = new URL(process.env.REDIS_URL);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
const worker = new Worker("usual", async () => {}, { connection, concurrency: 20 });
await worker.waitUntilReady();
process.send({ kind: "listening", port: 0 });
