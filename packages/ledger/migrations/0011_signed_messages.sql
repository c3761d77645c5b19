-- What was signed is the identity of a replay, where the id is not signed.

-- Of an event whose id is not signed: the SHA-256 of the signed message, where that is another than the body, whose hash
-- is the digest otherwise.
ALTER TABLE millrace.events ADD COLUMN digest text COLLATE "C";
-- Of an event that has its body in common with another one, which came before it: the headers that it came with itself.
ALTER TABLE millrace.events ADD COLUMN own_headers jsonb;

-- Deliveries of one signed message, in the order in which they came. Events of the build before are in it too, by the hash of
-- their body. No other index has one of its columns, so that a plan from when the table was small takes this one. It takes
-- the place of events_unsigned_body, which stays for as long as that build may run.
CREATE INDEX events_signed
  ON millrace.events (coalesce(digest, body_hash), (recorded_at AT TIME ZONE 'UTC'))
  WHERE unsigned AND generation = 0;
