import pg from "pg";
import type { ServerFile } from "./server-file.ts";

/** The superuser, which owns the data. */
export const ROLE = "millrace";

/** The login of processes that run handlers. It owns the database and is no superuser. */
export const APP_LOGIN = "millrace_app";

export function serverUrl(server: ServerFile, database: string, login = ROLE): string {
  const name = encodeURIComponent(database);
  return `postgresql://${login}:${server.password}@127.0.0.1:${server.port}/${name}?sslmode=disable`;
}

/** The pid of the postmaster that answers to our password; undefined while none does. */
export async function answeringPid(server: ServerFile): Promise<number | undefined> {
  try {
    return await withClient(server, "postgres", async (client) => {
      const answer = await client.query<{ text: string }>(
        "SELECT pg_read_file('postmaster.pid') AS text",
      );
      return Number.parseInt(answer.rows[0]?.text ?? "", 10);
    });
  } catch {
    return undefined;
  }
}

export async function ensureDatabase(server: ServerFile, database: string): Promise<void> {
  await withClient(server, "postgres", async (client) => {
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [database]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
    }
  });
  await withClient(server, database, async (client) => {
    // A standby is given to it on its primary.
    const standby = await client.query("SELECT WHERE pg_is_in_recovery()");
    if (standby.rowCount === 0) await giveToApp(client, database, server.password);
  });
}

/** All that people made, without the parts of extensions, and what goes with its table or type. */
const OWN_ALL = `
DO $$
DECLARE
  found text;
BEGIN
  FOR found IN
    SELECT format('%s %s', replace(o.type, 'composite ', ''), o.identity)
    FROM (
      SELECT 'pg_namespace'::regclass, oid, nspowner FROM pg_namespace
      UNION ALL SELECT 'pg_class'::regclass, oid, relowner FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
      UNION ALL SELECT 'pg_proc'::regclass, oid, proowner FROM pg_proc
      UNION ALL SELECT 'pg_type'::regclass, oid, typowner FROM pg_type
    ) AS made (class, id, owner)
    CROSS JOIN LATERAL pg_identify_object(class, id, 0) AS o
    WHERE owner = '${ROLE}'::regrole AND id >= 16384 AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = class AND d.objid = id
        AND (d.deptype IN ('e', 'i') OR (d.deptype = 'a' AND o.type = 'sequence'))
    )
  LOOP
    EXECUTE format('ALTER %s OWNER TO ${APP_LOGIN}', found);
  END LOOP;
END
$$`;

async function giveToApp(client: pg.Client, database: string, password: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [APP_LOGIN]);
  if (rowCount === 0) {
    await client.query(`CREATE ROLE ${APP_LOGIN} LOGIN PASSWORD ${pg.escapeLiteral(password)}`);
  }
  await client.query(`ALTER DATABASE ${pg.escapeIdentifier(database)} OWNER TO ${APP_LOGIN}`);
  await client.query(OWN_ALL);
}

async function withClient<T>(
  server: ServerFile,
  database: string,
  use: (client: pg.Client) => Promise<T>,
) {
  const client = new pg.Client({
    connectionString: serverUrl(server, database),
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
