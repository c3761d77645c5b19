import { missingRights } from "@millrace/ledger";
import { expect, test } from "vitest";
import { readRolesSql } from "../support/least-privilege.ts";
import { openForAll } from "../support/open-for.ts";
import { queryOnce, withPool } from "../support/query-once.ts";
import { migratedDatabase } from "../support/scratch-database.ts";

const database = openForAll(migratedDatabase);
const roles = await readRolesSql();

const names = async (query: string) =>
  (await queryOnce<{ name: string }>(database.url, query)).map(({ name }) => name);

const written = () =>
  [...roles.matchAll(/^ +(?:GRANT|REVOKE) [^;]*;/gm)].map(([statement]) => statement);

const isWritten = (name: string) =>
  written().some((statement) => new RegExp(`\\bmillrace\\.${name}\\b`).test(statement));

test("every table, view and sequence has a line in roles.sql", async () => {
  const relations = await names(
    `SELECT relname AS name FROM pg_class c
      WHERE relnamespace = 'millrace'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S')
        AND NOT relispartition
        -- The sequence of an identity column takes no right of its own.
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
          AND d.objid = c.oid AND d.deptype = 'i')`,
  );
  expect(relations).toContain("events");
  expect(relations.filter((name) => !isWritten(name))).toEqual([]);
});

test("every function has a line in roles.sql", async () => {
  const functions = await names(
    `SELECT format('millrace.%s(%s)', proname, oidvectortypes(proargtypes)) AS name
       FROM pg_proc WHERE pronamespace = 'millrace'::regnamespace`,
  );
  expect(functions).toContain("millrace.refuse(text)");
  const statements = written().join("\n");
  expect(functions.filter((name) => !statements.includes(name))).toEqual([]);
});

test("roles.sql names nothing that is not there", async () => {
  const known = await names(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'millrace'::regnamespace
      UNION ALL
     SELECT proname FROM pg_proc WHERE pronamespace = 'millrace'::regnamespace`,
  );
  const named = written().flatMap((statement) =>
    [...statement.matchAll(/\bmillrace\.(\w+)/g)].map(([, name = ""]) => name),
  );
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});

/** The rights of a login on tables, as `INSERT on millrace.attempts`. The view is for people. */
function tableRights(login: string): readonly string[] {
  const text = roles.replaceAll(/--.*|\([^)]*\)/g, "");
  const grants = text.matchAll(/GRANT ([A-Z,\s]+) ON (millrace\.[^;]+?)\s+TO ([^;]+);/g);
  return [...grants].flatMap(([, rights = "", tables = "", logins = ""]) =>
    !logins.split(/,\s*/).includes(login) || tables.endsWith(".webhook_events")
      ? []
      : rights
          .split(",")
          .flatMap((right) => tables.split(/,\s*/).map((table) => `${right.trim()} on ${table}`)),
  );
}

test.each(["ingress", "worker", "retention", "dashboard"] as const)(
  "a login of the %s without its rights gets the name of each",
  async (role) => {
    const granted = tableRights(`millrace_${role}`);
    expect(granted.length).toBeGreaterThan(10);
    // This login is in every Postgres, and has no right on our tables.
    const missing = await withPool(database.url, (pool) => missingRights(pool, role, "pg_monitor"));
    expect(missing.toSorted()).toEqual(granted.toSorted());
  },
);
