-- How many events were recorded, completed and failed, by minute and by hour, so that a chart of a month need not read a
-- month of events. The leading worker counts; events know nothing of it.
CREATE TABLE millrace.activity (
  -- When the minute or the hour began, by the database's clock in UTC.
  at timestamptz NOT NULL,
  events bigint NOT NULL CHECK (events > 0),
  -- 60 or 3,600.
  seconds integer NOT NULL CHECK (seconds IN (60, 3600)),
  -- How long they took from the record to the end: at most 2^(took/2) milliseconds. 0 for what was recorded.
  took smallint NOT NULL CHECK (took BETWEEN 0 AND 64),
  -- True where somebody had them run again: they waited for that.
  waited boolean NOT NULL,
  source text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('recorded', 'completed', 'failed')),
  PRIMARY KEY (seconds, at, source, type, kind, waited, took)
);

-- Until when events are counted: one row, which the worker that counts holds.
CREATE TABLE millrace.activity_progress (
  counted_until timestamptz NOT NULL,
  one boolean PRIMARY KEY DEFAULT true CHECK (one)
);
