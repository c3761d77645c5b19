-- The reconciler goes through what is pending source by source, page by page, so that a source with
-- a long backlog holds up no other. The indexes are small: an event is in them while it is pending.
DROP INDEX millrace.events_pending;
CREATE INDEX events_pending ON millrace.events (source, pending_since, event_id, generation)
  WHERE status = 'pending';

DROP INDEX millrace.events_unplaced;
CREATE INDEX events_unplaced ON millrace.events (source, pending_since, event_id, generation)
  WHERE status = 'pending' AND enqueued_at IS NULL;
