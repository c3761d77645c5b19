import { afterAll, beforeAll, expect, test } from "vitest";
import { createTwoStorePipeline, deliver } from "../integration/two-stores.ts";
import {
  startGuardedServers,
  type GuardedServers,
  type Login,
} from "../support/least-privilege.ts";
import type { Pipeline } from "../support/pipeline.ts";
import { queryOnce } from "../support/query-once.ts";
import { millrace } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";
import { REFUSALS } from "./beyond-a-role.ts";

// Somebody has the login of one role, and tries what the role does not need. What it needs: least-privilege.test.ts.

const REFUSED = "42501";
const LOGINS = ["ingress", "worker", "retention", "dashboard"] as const;

const NOBODY_MAY = [
  "create table public.mine (id int)",
  "create function public.mine() returns int language sql as 'select 1'",
  "create schema mine",
  "create extension dblink",
  "create extension pgcrypto",
  "copy (select 1) to program 'id'",
  "copy (select 1) to '/tmp/mine'",
  "select lo_export(1, '/tmp/mine')",
  "select lo_import('/etc/passwd')",
  "select pg_read_file('postgresql.conf')",
  "select pg_ls_dir('.')",
  "select pg_reload_conf()",
  "select pg_terminate_backend(pid) from pg_stat_activity where usename <> current_user",
  "select pg_create_logical_replication_slot('mine', 'test_decoding')",
  "select rolpassword from pg_authid",
  "alter role millrace_owner password 'mine'",
  "alter role current_user createdb",
  "alter system set fsync = off",
  "set session authorization millrace_owner",
  "create event trigger mine on ddl_command_end execute function millrace.refuse_transition()",
  "create publication mine for all tables",
  "create index on millrace.events (type)",
  "create rule mine as on insert to millrace.events do nothing",
  "comment on table millrace.events is 'mine'",
  "truncate millrace.events",
  "delete from millrace.migrations",
  "select setval('millrace.body_id', 1)",
];

let servers: GuardedServers;
let pipeline: Pipeline;

beforeAll(async () => {
  servers = await startGuardedServers({ onRedis: false });
  await servers.grant("public");
  pipeline = await createTwoStorePipeline({ databaseUrl: servers.databaseUrl("owner") });
  await millrace(["migrate"], { env: pipeline.env });
  await servers.grant("public");
  const loginOf = (login: Login) => ({ DATABASE_URL: servers.databaseUrl(login) });
  const ingress = await pipeline.startInProcess("ingress", loginOf("ingress"));
  await pipeline.startInProcess("worker", loginOf("worker"));
  await deliver(ingress, "fast", { id: "evt_done_1", type: "thing.happened" });
  await until(async () => {
    const done = "select 1 from millrace.events where status = 'completed'";
    return (await pipeline.database.query(done)).rows.length === 1;
  });
});
afterAll(async () => {
  await pipeline?.stop();
  await servers?.stop();
});

const as = (login: Login, text: string) => queryOnce(servers.databaseUrl(login), text);
const asSuperuser = (text: string) => queryOnce(servers.postgres.url, text);
const codeOf = (error: { code?: unknown }) => error.code;

async function allowed(login: Login, statements: readonly string[]): Promise<readonly string[]> {
  const answers = statements.map((statement) => as(login, statement).then(() => "done", codeOf));
  const codes = await Promise.all(answers);
  return statements.filter((_, index) => codes[index] !== REFUSED);
}

test.each(Object.entries(REFUSALS))("%s may do nothing beyond its work", async (login, list) => {
  expect(await allowed(login as Login, list)).toEqual([]);
});

test.each(LOGINS)("%s may do nothing that no role needs", async (login) => {
  expect(await allowed(login, NOBODY_MAY)).toEqual([]);
});

test("a completed event is not made another by anyone's login", async () => {
  for (const login of ["ingress", "worker", "dashboard"] as const) {
    const update = "update millrace.events set status = 'pending' where status = 'completed'";
    await expect(as(login, update)).rejects.toThrow(
      /Cannot update event|violates check constraint/,
    );
  }
  await expect(
    as("ingress", "update millrace.events set status = 'completed', processed_at = now()"),
  ).rejects.toThrow(/violates check constraint|Cannot update event/);
});

test("handlers reach their tables alone", async () => {
  expect(await as("worker", "select count(*) from effects")).toHaveLength(1);
  for (const login of ["ingress", "retention", "dashboard"] as const) {
    await expect(as(login, "select * from effects")).rejects.toMatchObject({ code: REFUSED });
  }
});

test("no login makes days of bodies without end", async () => {
  const days =
    "select count(*)::int as days from pg_inherits where inhparent = 'millrace.bodies'::regclass";
  for (const login of ["ingress", "worker", "dashboard"] as const) {
    for (const ahead of [32, 2_147_483_647]) {
      await expect(as(login, `select millrace.ensure_partitions(${ahead})`)).rejects.toThrow(
        `Cannot make the partitions of ${ahead} days`,
      );
    }
    await as(login, "select millrace.ensure_partitions(31)");
  }
  expect(await asSuperuser(days)).toEqual([{ days: 32 }]);
});

test("what the retention makes does not become the owner's when roles.sql runs again", async () => {
  await as(
    "retention",
    `create function millrace.evil() returns trigger language plpgsql security definer as
       $$ begin drop table millrace.audit cascade; return new; end $$;
     create view millrace.leak as select * from millrace.audit;
     create trigger evil before insert on millrace.bodies for each row execute function millrace.evil()`,
  );
  await servers.grant("public");
  const owners = await asSuperuser(
    `select proowner::regrole::text as owner from pg_proc where proname = 'evil'
      union all select relowner::regrole::text from pg_class where relname = 'leak'`,
  );
  expect(owners).toEqual([{ owner: "millrace_retention" }, { owner: "millrace_retention" }]);
  const insert = `insert into millrace.bodies (day, id, headers, body)
    values ((now() at time zone 'UTC')::date, -1, '{}', '')`;
  await expect(as("retention", insert)).rejects.toThrow("must be owner");
  await expect(as("retention", "select * from millrace.leak")).rejects.toMatchObject({
    code: REFUSED,
  });
});

// What docs/security-inside.md and docs/logins.md say that a login can do all the same.
test("an event may be invented with the login of the ingress and of the dashboard", async () => {
  for (const login of ["ingress", "dashboard"] as const) {
    await as(
      login,
      `insert into millrace.events (source, event_id, generation, type, body_hash, unsigned, received_at, body_id)
       values ('fast', 'invented_by_${login}', 0, 'thing.happened', '', false, now(), -1)`,
    );
  }
});

test.each(LOGINS)("%s may change the password and the settings of its own login", async (login) => {
  await as(login, "alter role current_user set application_name = 'mine'");
  await as(login, "alter role current_user reset application_name");
});
