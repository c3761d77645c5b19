import pg from "pg";
import { giveToApp } from "./app-login.ts";
import { ROLE } from "./initialise-data.ts";
import type { ServerFile } from "./server-file.ts";

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
  await withClient(server, database, (client) => giveToApp(client, server.password));
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
