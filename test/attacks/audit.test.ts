import { beforeAll, describe, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { openForAll } from "../support/open-for.ts";
import { startStack } from "../support/pipeline.ts";
import { settle, SQL_CONFIG } from "./sql-handler.ts";

const WRITES: Readonly<Record<string, readonly string[]>> = {
  "DELETE FROM millrace.audit": ["delete from millrace.audit"],
  "a DELETE that finds nothing": ["delete from millrace.audit where false"],
  "DELETE with the setting of those who may": [
    "select set_config('millrace.delete_audit', 'on', true)",
    "delete from millrace.audit",
  ],
  "DELETE without ordinary triggers": [
    "set local session_replication_role = 'replica'",
    "delete from millrace.audit",
  ],
  "UPDATE millrace.audit": ["update millrace.audit set actor = 'nobody'"],
  "an UPDATE that gives an act another result": ["update millrace.audit set result = '{}'"],
  "TRUNCATE millrace.audit CASCADE": ["truncate millrace.audit cascade"],
  "an act that nobody did": [
    "insert into millrace.audit (role, via, action) values ('operator', 'session', 'retry')",
  ],
  "DELETE FROM millrace.audit_results": ["delete from millrace.audit_results"],
  "UPDATE millrace.audit_results": ["update millrace.audit_results set result = '{}'"],
  "TRUNCATE millrace.audit_results": ["truncate millrace.audit_results"],
  "a result that nobody saw": [
    "insert into millrace.audit_results (id, result) select id, '{}' from millrace.audit",
  ],
  "a DELETE inside a function": ["do $$ begin execute 'delete from millrace' || '.audit'; end $$"],
};

// With one login for everything: what completed goes, and its dedup with it.
const HARMS: Readonly<Record<string, readonly string[]>> = {
  "DELETE FROM millrace.events": ["delete from millrace.events where status = 'completed'"],
  "the same without ordinary triggers": [
    "set local session_replication_role = 'replica'",
    "delete from millrace.events where status = 'completed'",
  ],
  "a completed event that is opened again": [
    "set local session_replication_role = 'replica'",
    "update millrace.events set status = 'pending', outcome = null, processed_at = null where status = 'completed'",
  ],
  "the same behind functions and views of its own": [
    "create schema evil create view pg_locks as select * from pg_catalog.pg_locks where false",
    "create function evil.current_setting(text) returns text language sql as $$ select 'replica' $$",
    "set local search_path = evil, pg_catalog",
    "update millrace.events set status = 'pending', outcome = null, processed_at = null where status = 'completed'",
  ],
  "TRUNCATE millrace.events CASCADE": ["truncate millrace.events cascade"],
  "DELETE FROM millrace.bodies": ["delete from millrace.bodies"],
  "a DELETE from today's partition": [
    "do $$ begin execute format('delete from millrace.bodies_%s', to_char(now() at time zone 'utc', 'YYYYMMDD')); end $$",
  ],
  "TRUNCATE of today's partition": [
    "do $$ begin execute format('truncate millrace.bodies_%s', to_char(now() at time zone 'utc', 'YYYYMMDD')); end $$",
  ],
  "another body": ["update millrace.bodies set body = ''"],
  "DELETE FROM millrace.steps": ["delete from millrace.steps"],
  "a failed event that is opened again": [
    "update millrace.events set status = 'pending', processed_at = null, failed_run = null where status = 'failed'",
  ],
  "a step that has not run": [
    "insert into millrace.steps (source, event_id, generation, name, attempt) values ('acme', 'evt', 0, '0.refund', 1)",
  ],
  "a bulk run that nobody asked for": [
    "insert into millrace.bulk_runs (verb, filter, role, via) values ('give_up', '{}', 'operator', 'cli')",
  ],
  "a session of nobody": ["insert into millrace.sessions default values"],
  "DELETE FROM millrace.attempts": ["delete from millrace.attempts"],
  "the mark of signed jobs": ["update millrace.identity set signed_since = null"],
};

onOneBackend("a handler that writes to the audit", (prepare) => {
  const stack = openForAll(() => startStack(prepare, { config: SQL_CONFIG, worker: false }));

  beforeAll(async () => {
    for (const act of ["pause", "resume"]) {
      const url = `${stack.dashboard.url}/api/sources/acme/${act}`;
      const headers = { "content-type": "application/json" };
      await fetch(url, { method: "POST", headers, body: JSON.stringify({ reason: "to see it" }) });
    }
  });

  const audit = async (): Promise<unknown> => {
    const response = await fetch(`${stack.dashboard.url}/api/audit`);
    const { entries } = (await response.json()) as { entries: unknown };
    return entries;
  };

  describe.each([
    ["first attempt", "on"],
    ["recorded attempt", "off"],
  ])("in a %s", (_, groups) => {
    openForAll(() => stack.pipeline.startInProcess("worker", { MILLRACE_GROUPS: groups }));

    test.each(Object.entries(WRITES))("fails by %s; the audit is unchanged", async (_what, run) => {
      const before = await audit();
      expect(before).toMatchObject([
        { action: "resume", reason: "to see it", result: { paused: false } },
        { action: "pause", reason: "to see it", result: { paused: true } },
      ]);
      const event = await settle(stack, "test.sql", { run });
      expect(event).toMatchObject({ status: "failed" });
      expect(event.last_error).toMatch(
        /Cannot write to millrace\.audit\w*: a handler may not.*MR004/,
      );
      expect(await audit()).toEqual(before);
    });

    test.each(Object.entries(HARMS))("fails by %s; the ledger is unchanged", async (_what, run) => {
      await settle(stack, "test.sql", { run: ["select 1"] });
      const event = await settle(stack, "test.sql", { run });
      expect(event).toMatchObject({ status: "failed" });
      expect(event.last_error).toMatch(/MR00[14]/);
    });
  });
});
