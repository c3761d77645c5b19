import { createPool } from "@millrace/ledger";
import pg from "pg";

export async function queryOnce<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return await withClient(url, async (client) => (await client.query<Row>(text, values)).rows);
}

export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Uses one connection of a pool as the product opens it. */
export async function withPool<T>(url: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = createPool({ url, max: 1, applicationName: "millrace-test" });
  try {
    return await use(pool);
  } finally {
    await pool.end();
  }
}
