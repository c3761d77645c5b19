export const LEFT_BEHIND: Readonly<Record<string, readonly [leave: string, isThere: string]>> = {
  "a tenant's setting": [
    "select set_config('acme.tenant', 'a', false)",
    "coalesce(current_setting('acme.tenant', true), '') <> ''",
  ],
  "a temporary table": [
    "create temp table left_behind (id int)",
    "to_regclass('pg_temp.left_behind') is not null",
  ],
  "a cursor WITH HOLD": [
    "declare left_behind cursor with hold for select 1",
    "exists (select from pg_cursors where name = 'left_behind')",
  ],
  "a session's advisory lock": [
    "select pg_advisory_lock(47)",
    "exists (select from pg_locks where locktype = 'advisory' and objid = 47)",
  ],
  "a LISTEN in a DO block": [
    "do $$ begin execute 'listen left_behind'; end $$",
    "exists (select from pg_listening_channels())",
  ],
};
