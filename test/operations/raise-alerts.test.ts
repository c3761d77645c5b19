import type { DisagreementKind } from "@millrace/api-contract";
import { findSenders, raiseAlerts } from "@millrace/operations";
import { expect, test } from "vitest";
import { useLedger } from "../support/ledger-fixture.ts";
import { event } from "../support/queue-fixture.ts";

const it = useLedger();
const queues = { waitingJobs: async () => ({ count: 0, jobs: [] }), ping: async () => {} };

async function raised(disagreements = new Map<DisagreementKind, number>()): Promise<string[]> {
  const deps = { ledger: it.ledger, queues: queues as never, sources: {}, dashboardUrl: undefined };
  await raiseAlerts({ ...deps, disagreements });
  const rows = await it.ask<{ id: string }>(
    "SELECT event_id AS id FROM millrace.events WHERE source = 'millrace' ORDER BY event_id",
  );
  return rows.map(({ id }) => id.slice(0, id.lastIndexOf("|")));
}

test("alerts of an error that came back, a silent and a refused source, and a run that ended", async () => {
  await it.ask(`INSERT INTO millrace.errors (fingerprint, title, code, reopened_at)
    VALUES ('1-back', 'No stock', 'handler_failed', now())`);
  await it.ask(`INSERT INTO millrace.error_counts
      (fingerprint, source, type, shard, attempts, first_seen_at, event_id, generation)
    VALUES ('1-back', 'shop', 'paid', 0, 1, now() - interval '1 day', 'evt_1', 0)`);
  await it.ask(`INSERT INTO millrace.activity (at, events, seconds, took, waited, source, type, kind)
    SELECT date_trunc('hour', now()) - n * interval '1 hour', 5, 3600, 0, false, 'quiet', 'a', 'recorded'
    FROM generate_series(2, 24) AS n`);
  await it.ask(`INSERT INTO millrace.activity_progress (counted_until) VALUES (now())
    ON CONFLICT (one) DO UPDATE SET counted_until = now()`);
  await it.ask(`INSERT INTO millrace.refusals (at, source, code, deliveries)
    VALUES (date_trunc('minute', now()), 'wrong', 'no_secret_matches', 25)`);
  await it.ask(`INSERT INTO millrace.bulk_runs (verb, filter, state, role, via, results, finished_at)
    SELECT 'retry', '{}', state, 'operator', 'cli', results::jsonb, now() - ago::interval
    FROM (VALUES ('finished', '{"completed": 0, "failed": 9, "pending": 0, "errors": 1}', '1 min'),
      ('finished', NULL, '1 min'), ('finished', NULL, '11 min'), ('stopped', NULL, '1 min')) AS r (state, results, ago)`);
  const expected = [
    "error.reopened|1-back",
    // The second has no final results yet.
    ...[1, 3, 4].map((id) => expect.stringMatching(`^run\\.ended\\|${id}\\|\\d+$`)),
    "source.refused|wrong",
    "source.silent|quiet",
  ];
  expect(await raised()).toEqual(expected);
  expect(await raised()).toEqual(expected);
  const { silent } = await findSenders({ ledger: it.ledger, queues });
  expect(silent.text).toMatch(/^Sent nothing for an hour.*: quiet$/);
});

const fingerprint = (n: number) => `1-${String(n).padStart(10, "0")}000000`;

async function open(from: number, to: number): Promise<void> {
  await it.ask(
    `INSERT INTO millrace.errors (fingerprint, title, code)
     SELECT '1-' || lpad(n::text, 10, '0') || '000000', 'Error ' || n, 'handler_failed' FROM generate_series($1::int, $2) n`,
    [from, to],
  );
  await it.ask(
    `INSERT INTO millrace.error_counts (fingerprint, source, type, shard, attempts, event_id, generation)
     SELECT '1-' || lpad(n::text, 10, '0') || '000000', 'shop', 'paid', 0, 1, 'evt_2', 0 FROM generate_series($1::int, $2) n`,
    [from, to],
  );
}

test("each new error is in one alert: ten of their own, and those behind them together, by the minute", async () => {
  const ofErrors = async () => (await raised()).filter((id) => /^errors?\.opened/.test(id));
  const ofOne = Array.from({ length: 8 }, (_, n) => `error.opened|${fingerprint(n + 1)}`);
  await open(1, 8);
  expect(await ofErrors()).toEqual(ofOne);
  await open(9, 12);
  const parts = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, n) => fingerprint(from + n).slice(0, 12)).join("|");
  const many = [...ofOne, `errors.opened|${parts(9, 12)}`];
  expect(await ofErrors()).toEqual(many);
  await open(13, 16);
  expect(await ofErrors()).toEqual(many);
  await it.pastTriggers(
    "UPDATE millrace.events SET recorded_at = recorded_at - interval '2 minutes'",
  );
  await it.ask("UPDATE millrace.errors SET reopened_at = reopened_at - interval '3 minutes'");
  await it.ask(
    "UPDATE millrace.error_counts SET first_seen_at = first_seen_at - interval '3 minutes'",
  );
  expect(await ofErrors()).toEqual([...many, `errors.opened|${parts(13, 16)}`]);
});

test("a small source that fails is one alert, however many events of another one complete", async () => {
  await it.ask(`INSERT INTO millrace.activity (at, events, seconds, took, waited, source, type, kind)
    SELECT date_trunc('minute', now()) - interval '3 minutes', events, 60, 0, false, source, 'a', kind
    FROM (VALUES (34, 'small', 'failed'), (400000, 'busy', 'completed')) AS f (events, source, kind)`);
  expect(await raised()).toContain("source.failing|small");
  expect(await raised()).not.toContain("source.failing|busy");
  const events = Array.from({ length: 5 }, (_, n) => event(`evt_w${n}`));
  await it.ledger.intake.accept(events);
  expect(await raised()).not.toContain("source.failing|acme");
  await it.ask("INSERT INTO millrace.errors (fingerprint, title, code) VALUES ('1-w', 'No w', '')");
  await it.ask(`INSERT INTO millrace.error_counts
    VALUES ('1-w', 'acme', '', 0, 5, now() - interval '1 day', now(), '', 0)`);
  await it.pastTriggers("UPDATE millrace.events SET last_error_code = '', fingerprint = '1-w'");
  expect(await raised()).toContain("source.failing|acme");
  const [worst] = await it.ledger.errors.findWorst("acme");
  expect(worst).toEqual({ title: "No w", events: 5 });
});

test("a lost queue is one alert, a few repaired jobs are none, and what nothing repairs is one at once", async () => {
  const raisedBy = async (kind: DisagreementKind, count: number) =>
    (await raised(new Map([[kind, count]]))).filter((id) => id.startsWith("ledger"));
  expect(await raisedBy("pending_without_job", 19)).toEqual([]);
  expect(await raisedBy("pending_without_job", 20)).toEqual(["ledger.disagreed|repaired"]);
  expect(await raisedBy("unreadable_job", 1)).toContain("ledger.disagreed|left");
});
