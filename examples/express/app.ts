import express, { type Express } from "express";
import { millraceRouter, type Receiver } from "millrace";

/** An app with routes of its own, and `POST /webhooks/<source>`. */
export function createApp(receiver: Receiver): Express {
  const app = express();
  // Before any body parser: what is verified are the bytes as they came.
  app.use("/webhooks", millraceRouter(receiver));

  app.use(express.json());
  app.post("/echo", (request, response) => void response.json(request.body));
  return app;
}
