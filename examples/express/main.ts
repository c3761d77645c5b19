import { openReceiver } from "millrace";
import { createApp } from "./app.ts";
import config from "./millrace.config.ts";

const receiver = await openReceiver(config, process.env);
const server = createApp(receiver).listen(Number(process.env["PORT"] ?? 3000));

process.once("SIGTERM", () => {
  // What was taken in is answered before the connections to Redis and Postgres go.
  server.close(() => void receiver.close());
});
