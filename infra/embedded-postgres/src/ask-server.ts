import pg from "pg";
import { ROLE } from "./initialise-data.ts";
import type { ServerFile } from "./server-file.ts";

export function serverUrl(server: ServerFile, database: string): string {
  const name = encodeURIComponent(database);
  return `postgresql://${ROLE}:${server.password}@127.0.0.1:${server.port}/${name}?sslmode=disable`;
}

/** The pid of the postmaster that answers to our password; undefined while none does. */
export async function answeringPid(server: ServerFile): Promise<number | undefined> {
  try {
    return await withClient(server, async (client) => {
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
  await withClient(server, async (client) => {
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [database]);
    if (found.rowCount === 0) {
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(database)}`);
    }
  });
}

async function withClient<T>(server: ServerFile, use: (client: pg.Client) => Promise<T>) {
  const client = new pg.Client({
    connectionString: serverUrl(server, "postgres"),
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
