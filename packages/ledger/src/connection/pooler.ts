import { randomUUID } from "node:crypto";
import { settlesWithin } from "@millrace/core";
import type pg from "pg";
import type { PooledConnection } from "./connection.ts";
import { SessionSettings } from "./pinned-settings.ts";
import { isStale } from "./statement.ts";
import { withConnection } from "./transaction.ts";

/** `session`: a server process for each connection; `transaction`: any one for each transaction. */
export type Pooler = "none" | "session" | "transaction";

const TRIES = 5;
const DEADLINE_MS = 5_000;
const SHARED_MS = 300;

/** Takes two connections. Where prepared statements get lost, the pool stops naming its own. */
export async function findPooler(pool: pg.Pool): Promise<Pooler> {
  return await withConnection(pool, DEADLINE_MS, async (first) => {
    const { processID } = first.client as { processID?: unknown };
    if ((await pidOf(first)) === processID) return "none";
    SessionSettings.notePooler(first.client);
    return await withConnection(pool, DEADLINE_MS, (second) => watchPooler(first, second));
  });
}

/** Asks again while the other connection has taken a process: most likely the freed one. */
async function watchPooler(first: PooledConnection, second: PooledConnection): Promise<Pooler> {
  // A name that no earlier process has left on a server.
  const name = `millrace_probe_${randomUUID()}`;
  let waits = 0;
  try {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const before = await pidOf(first, name);
      await second.client.query("BEGIN");
      await pidOf(second);
      const asked = pidOf(first, name);
      // Where a pooler has one process, it is free when the other transaction has ended.
      if (!(await settlesWithin(asked, SHARED_MS))) waits += 1;
      await second.client.query("COMMIT");
      if (before !== (await asked)) return "transaction";
    }
    // A server may be slow once, and not each time.
    if (waits < TRIES) return "session";
    // Both have the same process: whether the pooler keeps their names apart is seen now.
    await pidOf(second, name);
    return "transaction";
  } catch (error) {
    if (isStale(error)) return "transaction";
    throw error;
  }
}

async function pidOf({ client }: PooledConnection, name?: string): Promise<unknown> {
  const text = "SELECT pg_catalog.pg_backend_pid() AS pid";
  const ask = async () => (await client.query<{ pid: number }>({ name, text })).rows[0]?.pid;
  if (name === undefined) return await ask();
  // By itself, a name that is gone would end a session with exit_on_error.
  await client.query(SessionSettings.begin(client).join("; "));
  try {
    return await ask();
  } finally {
    await client.query("ROLLBACK");
  }
}
