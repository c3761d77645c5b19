-- Events that were given up while their queue was away: their jobs may still be there, and the reconciler removes them.
CREATE INDEX events_given_up ON millrace.events (source, event_id, generation)
  WHERE status = 'failed' AND last_error_code = 'given_up' AND enqueued_at IS NOT NULL;
