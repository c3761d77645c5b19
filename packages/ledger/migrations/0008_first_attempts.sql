-- Most events complete at their first attempt, within milliseconds. A worker writes such an event once,
-- when its handlers have run and in their transaction: as completed, with the times of both transitions.

-- The new condition is told by the row and by a setting that lasts as long as the transaction of such
-- attempts, so that no other INSERT brings a completed event into the ledger.
CREATE OR REPLACE TRIGGER refuse_insert AFTER INSERT ON millrace.events
  FOR EACH ROW WHEN (
    NEW.status <> 'pending' AND NOT (
      NEW.status = 'completed'
      AND NEW.generation = 0
      AND NEW.attempts = 1
      AND NEW.attempts_at_retry = 0
      AND NEW.started_at IS NOT NULL
      AND NEW.started_at <= NEW.processed_at
      AND NEW.last_error_code IS NULL
      AND current_setting('millrace.first_attempts', true) IS NOT DISTINCT FROM pg_current_xact_id()::text
    )
  )
  EXECUTE FUNCTION millrace.refuse_transition();
