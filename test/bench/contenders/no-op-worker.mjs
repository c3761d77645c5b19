// What no worker on BullMQ can beat here: a handler that does nothing.
import { Worker } from "bullmq";
import { usualBackend } from "./usual-queue.mjs";

const { connection } = usualBackend();
const worker = new Worker("usual", async () => {}, { connection, concurrency: 20 });
await worker.waitUntilReady();
process.send({ kind: "listening", port: 0 });
