import type { Login } from "../support/least-privilege.ts";

const AUDIT = [
  "select * from millrace.audit",
  "insert into millrace.audit (role, via, action) values ('operator', 'cli', 'retry')",
  "update millrace.audit set actor = 'somebody'",
  "delete from millrace.audit",
  "truncate millrace.audit",
];

/** Statements that each login is refused. */
export const REFUSALS: Readonly<Record<Login, readonly string[]>> = {
  ingress: [
    ...AUDIT,
    "select body from millrace.bodies",
    "select headers from millrace.bodies",
    "select * from millrace.attempts",
    "select * from public.webhook_events",
    "update millrace.events set outcome = 'handled'",
    "insert into millrace.events (source, event_id, status) values ('a', 'b', 'completed')",
    "delete from millrace.events",
    "create table millrace.mine (id int)",
  ],
  worker: [
    ...AUDIT,
    "delete from millrace.events",
    "delete from millrace.attempts",
    "delete from millrace.bodies",
    "update millrace.bodies set body = ''",
    "truncate millrace.bodies",
    "drop table millrace.bodies",
    "delete from public.webhook_events",
    "delete from millrace.webhook_events",
    "update millrace.migrations set checksum = ''",
    "alter table millrace.events disable trigger all",
    "alter function millrace.ensure_partitions(integer) reset all",
    "create table millrace.mine (id int)",
    "create function millrace.mine() returns int language sql as 'select 1'",
    "create trigger mine before insert on millrace.bodies execute function millrace.refuse_transition()",
    "set role millrace_owner",
    "set role millrace_retention",
    "set session_replication_role = replica",
    "create role mine",
    "select pg_read_file('postgresql.conf')",
  ],
  retention: [
    ...AUDIT,
    "update millrace.events set status = 'completed'",
    "insert into millrace.events (source) values ('a')",
    "select * from millrace.queue_epochs",
    "set role millrace_owner",
  ],
  dashboard: [
    "update millrace.audit set actor = 'somebody'",
    "delete from millrace.audit",
    "truncate millrace.audit",
    "update millrace.events set outcome = 'handled'",
    "delete from millrace.events",
    "update millrace.bodies set body = ''",
    "set role millrace_owner",
  ],
  owner: ["create role mine", "alter system set fsync = off"],
};
