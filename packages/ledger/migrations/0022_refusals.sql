-- How many deliveries were refused, by minute: the strip over each page of the dashboard shows those of the last minutes.
-- The ingress notes them behind its answers, and the leading worker deletes what is old.
CREATE TABLE millrace.refusals (
  -- When the minute began, by the database's clock in UTC.
  at timestamptz NOT NULL,
  deliveries bigint NOT NULL CHECK (deliveries > 0),
  -- Empty where the sender named no source of the config.
  source text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  PRIMARY KEY (at, source, code)
);
