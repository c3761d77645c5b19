-- Mails that were sent.
CREATE TABLE store.mails (
  message_id text PRIMARY KEY,
  recipient text NOT NULL,
  sent_at timestamptz NOT NULL DEFAULT now()
);
