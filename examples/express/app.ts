import express, { type Express } from "express";
import type { Receiver } from "millrace";

/** An app with routes of its own, and `POST /webhooks/<source>`. */
export function createApp(receiver: Receiver): Express {
  const app = express();
  // Before any body parser: the signature is over the bytes as they came.
  app.use("/webhooks", receiver.express());

  app.use(express.json());
  app.post("/echo", (request, response) => void response.json(request.body));
  return app;
}
