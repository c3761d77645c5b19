import { createServer } from "node:http";
import { createQueueBoard } from "@millrace/dashboard";
import { Queue } from "bullmq";
import express, { type ErrorRequestHandler } from "express";
import { listenOnLoopback } from "../support/free-port.ts";
import { startRedis } from "../support/redis.ts";

export async function startTestBoard(onError?: ErrorRequestHandler) {
  const redis = await startRedis();
  const queue = new Queue("millrace-acme", { connection: { url: redis.url } });
  const app = express();
  const board = createQueueBoard([queue], {
    ...{ showWorkers: true, onError: () => {} },
    audit: { middleware: (_asked, _answer, next) => next(), run: (_route, _asked, act) => act() },
  });
  app.use("/queues", board);
  if (onError !== undefined) app.use(onError);
  const server = createServer(app);
  const port = await listenOnLoopback(server);
  return {
    redis,
    queue,
    base: `http://127.0.0.1:${port}/queues`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await queue.close();
      await redis.stop();
    },
  };
}
