import { serve } from "@hono/node-server";
import { openReceiver } from "millrace";
import { createApp } from "./app.ts";
import config from "./millrace.config.ts";

const receiver = await openReceiver(config, process.env);
const server = serve({
  fetch: createApp(receiver).fetch,
  port: Number(process.env["PORT"] ?? 3000),
});

process.once("SIGTERM", () => {
  server.close(() => void receiver.close());
});
