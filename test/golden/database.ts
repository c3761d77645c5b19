import type pg from "pg";
import { queryOnce } from "../support/query-once.ts";

async function lines(pool: pg.Pool, query: string): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(query);
  return rows.map(({ line }) => line);
}

export function columns(pool: pg.Pool): Promise<string[]> {
  return lines(
    pool,
    `SELECT format('%s.%s.%s %s%s', n.nspname, c.relname, a.attname,
         format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN ' not null' ELSE '' END) AS line
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
         JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE a.attnum > 0 AND NOT a.attisdropped AND NOT c.relispartition
        AND c.relkind IN ('r', 'p', 'v', 'm')
        AND (n.nspname = 'millrace' OR c.relname = 'webhook_events')
      ORDER BY n.nspname, c.relname, a.attnum`,
  );
}

export function functions(pool: pg.Pool): Promise<string[]> {
  return lines(
    pool,
    `SELECT format('%s.%s(%s) %s', pronamespace::regnamespace, proname,
         pg_get_function_identity_arguments(oid), pg_get_function_result(oid)) AS line
       FROM pg_proc WHERE pronamespace = 'millrace'::regnamespace ORDER BY 1`,
  );
}

export async function sqlStates(pool: pg.Pool): Promise<string[]> {
  const stateOf = (statement: string): Promise<string> =>
    pool.query(statement).then(
      () => "none",
      (error: pg.DatabaseError) => error.code ?? "none",
    );
  return [
    `${await stateOf("TRUNCATE millrace.events CASCADE")} truncating millrace.events`,
    `${await stateOf("DELETE FROM millrace.events")} deleting an event that is not completed`,
    `${await stateOf("UPDATE millrace.events SET generation = generation + 1")} an illegal update`,
    `${await stateOf("SELECT millrace.refuse('no')")} millrace.refuse()`,
    `${await stateOf("SELECT millrace.refuse('no', 'MR003')")} millrace.refuse() for another transaction`,
    `${await stateOf("DELETE FROM millrace.audit")} changing the audit`,
  ];
}

export type LockSpy = Awaited<ReturnType<typeof spyOnLocks>>;

/**
 * Sees the names of advisory locks: in this database `hashtextextended` is a function that notes its
 * argument before it calls the real one. To be called before anything else connects.
 */
export async function spyOnLocks(databaseUrl: string) {
  const name = new URL(databaseUrl).pathname.slice(1);
  await queryOnce(
    databaseUrl,
    `
    CREATE SCHEMA spy;
    CREATE TABLE spy.names (name text);
    CREATE FUNCTION spy.hashtextextended(name text, seed bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      INSERT INTO spy.names VALUES (name);
      RETURN pg_catalog.hashtextextended(name, seed);
    END
    $$;
    ALTER DATABASE ${name} SET search_path = spy, pg_catalog, "$user", public`,
  );
  return {
    names: async () => {
      const text = "SELECT DISTINCT name FROM spy.names ORDER BY 1";
      return (await queryOnce<{ name: string }>(databaseUrl, text)).map(({ name: seen }) => seen);
    },
  };
}
