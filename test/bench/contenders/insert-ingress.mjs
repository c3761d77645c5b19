// The receiver that people write by hand where there is no queue: one INSERT a request.
import pg from "pg";
import { serve } from "./express-receiver.mjs";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
serve((eventId, event) =>
  pool.query(
    "INSERT INTO usual_events (event_id, type, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    [eventId, event.type, JSON.stringify(event)],
  ),
);
