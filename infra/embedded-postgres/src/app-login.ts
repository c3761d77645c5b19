import pg from "pg";
import { ROLE } from "./initialise-data.ts";

/** The login of processes that run handlers. It owns the database and is no superuser. */
export const APP_LOGIN = "millrace_app";

/** For data folders from before the app's login, and for what a person made with psql. */
const OWN_ALL = `
DO $$
DECLARE
  found text;
BEGIN
  FOR found IN
    SELECT format('SCHEMA %I', n.nspname) FROM pg_namespace n
    WHERE n.nspowner = '${ROLE}'::regrole AND n.nspname !~ '^(pg_|information_schema$)'
    UNION ALL
    SELECT format('%s %s', k.kind, c.oid::regclass) FROM pg_class c
    JOIN (VALUES ('r', 'TABLE'), ('p', 'TABLE'), ('v', 'VIEW'), ('m', 'MATERIALIZED VIEW'),
      ('S', 'SEQUENCE'), ('f', 'FOREIGN TABLE')) AS k (relkind, kind) ON c.relkind = k.relkind::"char"
    WHERE c.relowner = '${ROLE}'::regrole AND c.relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
        AND d.objid = c.oid AND d.deptype IN ('e', 'a', 'i'))
    UNION ALL
    SELECT format('ROUTINE %s', p.oid::regprocedure) FROM pg_proc p
    WHERE p.proowner = '${ROLE}'::regrole AND p.pronamespace::regnamespace::text !~ '^(pg_|information_schema$)'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
        AND d.objid = p.oid AND d.deptype IN ('e', 'i'))
    UNION ALL
    SELECT format('TYPE %s', t.oid::regtype) FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.typowner = '${ROLE}'::regrole AND t.typnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
      AND (t.typtype IN ('e', 'd', 'r') OR c.relkind = 'c')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass
        AND d.objid = t.oid AND d.deptype IN ('e', 'i'))
  LOOP
    EXECUTE format('ALTER %s OWNER TO ${APP_LOGIN}', found);
  END LOOP;
END
$$`;

export async function giveToApp(client: pg.Client, password: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [APP_LOGIN]);
  if (rowCount === 0) {
    await client.query(`CREATE ROLE ${APP_LOGIN} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
  }
  const { rows } = await client.query<{ database: string }>(
    `SELECT quote_ident(datname) AS database FROM pg_database
     WHERE datname = current_database() AND datdba <> '${APP_LOGIN}'::regrole`,
  );
  for (const { database } of rows) {
    await client.query(`ALTER DATABASE ${database} OWNER TO ${APP_LOGIN}`);
  }
  await client.query(OWN_ALL);
}
