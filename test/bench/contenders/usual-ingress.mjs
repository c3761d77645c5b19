// The ingress that people write by hand: Express, a raw body, one queue.add a request.
import { Queue } from "bullmq";
import { serve } from "./express-receiver.mjs";
import { usualBackend } from "./usual-queue.mjs";

const { connection, factory } = usualBackend();
const queue = new Queue("usual", { connection }, factory);
serve((eventId, event) =>
  queue.add(event.type, event, {
    jobId: eventId,
    attempts: 12,
    removeOnComplete: { count: 10_000 },
  }),
);
