// The usual Express receiver, with pg-boss as its queue.
import { serve } from "./express-receiver.mjs";
import { jobOptions, QUEUE, startBoss } from "./pg-boss-queue.mjs";

const boss = await startBoss(process.env.DATABASE_URL);
serve((eventId, event) => boss.send(QUEUE, { eventId, event }, jobOptions(eventId)));
