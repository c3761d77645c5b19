-- The tables of the example store. Millrace runs every file of this folder once, in order.
CREATE SCHEMA IF NOT EXISTS store;

CREATE TABLE store.users (
  id text PRIMARY KEY,
  email text NOT NULL,
  name text NOT NULL,
  subscription_tier text,
  subscription_status text
);

-- No foreign key to users: a payment may come before its user.
CREATE TABLE store.payments (
  id text PRIMARY KEY,
  user_id text,
  amount bigint NOT NULL,
  status text NOT NULL CHECK (status IN ('completed', 'refunded'))
);

CREATE TABLE store.carriers (
  name text PRIMARY KEY
);

INSERT INTO store.carriers (name) VALUES ('dhl'), ('fedex'), ('ups'), ('usps');

CREATE TABLE store.shipments (
  order_id text PRIMARY KEY,
  carrier text NOT NULL REFERENCES store.carriers,
  tracking_number text
);

CREATE TABLE store.pushes (
  repository text NOT NULL,
  ref text NOT NULL,
  commit text NOT NULL,
  PRIMARY KEY (repository, ref, commit)
);

CREATE TABLE store.issues (
  repository text NOT NULL,
  number integer NOT NULL,
  title text NOT NULL,
  state text NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (repository, number)
);

CREATE TABLE store.messages (
  id text PRIMARY KEY,
  type text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now()
);

-- Mails that were sent.
CREATE TABLE store.mails (
  message_id text PRIMARY KEY,
  recipient text NOT NULL,
  sent_at timestamptz NOT NULL DEFAULT now()
);
