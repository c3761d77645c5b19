// The usual Express receiver, with graphile-worker as its queue. `jobKey` drops duplicates of waiting jobs.
import { makeWorkerUtils } from "graphile-worker";
import { serve } from "./express-receiver.mjs";

const utils = await makeWorkerUtils({
  connectionString: process.env.DATABASE_URL,
  maxPoolSize: 20,
});
serve((eventId, event) =>
  utils.addJob("bench", { eventId, event }, { jobKey: eventId, maxAttempts: 12 }),
);
