import type { DisagreementKind } from "@millrace/api-contract";
import { findSenders, raiseAlerts } from "@millrace/operations";
import { expect, test } from "vitest";
import { useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();
const queues = { counts: () => Promise.resolve(new Map()), ping: () => Promise.resolve() };

async function raised(disagreements = new Map<DisagreementKind, number>()): Promise<string[]> {
  const deps = { ledger: it.ledger, queues, sources: {}, dashboardUrl: undefined };
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
  await it.ask(`INSERT INTO millrace.bulk_runs (verb, filter, state, role, via, finished_at)
    VALUES ('retry', '{}', 'finished', 'operator', 'cli', now())`);
  const expected = [
    "error.reopened|1-back",
    "run.ended|1",
    "source.refused|wrong",
    "source.silent|quiet",
  ];
  expect(await raised()).toEqual(expected);
  expect(await raised()).toEqual(expected);
  const { silent } = await findSenders({ ledger: it.ledger, queues });
  expect(silent.text).toMatch(/^Sent nothing for an hour.*: quiet$/);
});

test("many new errors are one alert", async () => {
  for (let n = 0; n < 12; n += 1) {
    await it.ask(`INSERT INTO millrace.errors (fingerprint, title, code)
      VALUES ('1-new-${n}', 'Error ${n}', 'handler_failed')`);
    await it.ask(`INSERT INTO millrace.error_counts
        (fingerprint, source, type, shard, attempts, event_id, generation)
      VALUES ('1-new-${n}', 'shop', 'paid', 0, 1, 'evt_2', 0)`);
  }
  expect((await raised()).filter((id) => id.startsWith("error"))).toEqual([
    "error.reopened|1-back",
    "errors.opened|many",
  ]);
});

test("a lost queue is one alert, a few repaired jobs are none, and what nothing repairs is one at once", async () => {
  const raisedBy = async (kind: DisagreementKind, count: number) =>
    (await raised(new Map([[kind, count]]))).filter((id) => id.startsWith("ledger"));
  expect(await raisedBy("pending_without_job", 19)).toEqual([]);
  expect(await raisedBy("pending_without_job", 20)).toEqual(["ledger.disagreed|repaired"]);
  expect(await raisedBy("unreadable_job", 1)).toContain("ledger.disagreed|left");
});
