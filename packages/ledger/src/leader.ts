import { withDeadline } from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "./database-errors.ts";
import { lease, type Lease } from "./connection.ts";

/** Leader election: of all processes on one database, at most one leads under a name. */
export interface Leader {
  /** True while this process leads, as far as it knows. */
  readonly leading: boolean;
  /**
   * Takes the lead, or confirms that this process still has it. Call it before each round of work, and
   * from time to time within a long one. Returns a signal that aborts when the lead is lost; undefined
   * while another process leads.
   *
   * @throws `database_unavailable`; then the lead is lost.
   */
  lead(): Promise<AbortSignal | undefined>;
  /** Gives up the lead, for another process to take. Call it before the pool ends. */
  close(): void;
}

/** Milliseconds after which a connection that does not answer is dropped. */
const ANSWER_TIMEOUT_MS = 5_000;

/** The name of a leader's connection in pg_stat_activity. */
const APPLICATION_NAME = "millrace-leader";

/**
 * Postgres frees the lock when the connection ends. If a machine vanishes, keepalives find its
 * connection dead after half a minute, in place of the usual two hours.
 */
const KEEP = [
  `SET application_name = '${APPLICATION_NAME}'`,
  "SET idle_session_timeout = 0",
  "SET tcp_keepalives_idle = 10",
  "SET tcp_keepalives_interval = 5",
  "SET tcp_keepalives_count = 4",
].join("; ");

const TAKE = "SELECT pg_try_advisory_lock(hashtextextended('millrace.leader.' || $1, 0)) AS taken";

/**
 * Elects a leader by an advisory lock, on a connection of the pool that is kept for as long as this
 * process leads. A leader's work must do no harm when two processes do it: a leader that was cut off goes
 * on until it notices.
 */
export function createLeader({ pool }: { pool: pg.Pool }, name: string): Leader {
  let held: Lease | undefined;
  let lost = new AbortController();
  let closed = false;

  function resign(connection: Lease | undefined): void {
    if (connection === undefined || held !== connection) return;
    held = undefined;
    lost.abort(new Error(`Cannot go on: another process may lead "${name}" now`));
    drop(connection);
  }

  async function confirm(connection: Lease): Promise<AbortSignal | undefined> {
    try {
      await answer(connection, { text: "SELECT 1" });
    } catch (error) {
      resign(connection);
      throw error;
    }
    return held === connection ? lost.signal : undefined;
  }

  async function campaign(): Promise<AbortSignal | undefined> {
    const candidate = await lease(pool);
    try {
      const { rows } = await answer(candidate, { text: TAKE, values: [name] });
      if (rows[0]?.["taken"] !== true) {
        candidate.release();
        return undefined;
      }
      await answer(candidate, { text: KEEP });
    } catch (error) {
      drop(candidate);
      throw error;
    }
    if (closed) {
      drop(candidate);
      return undefined;
    }
    held = candidate;
    lost = new AbortController();
    candidate.client.once("end", () => resign(candidate));
    return lost.signal;
  }

  async function lead(): Promise<AbortSignal | undefined> {
    if (closed) return undefined;
    return held === undefined ? await campaign() : await confirm(held);
  }

  let asking: Promise<AbortSignal | undefined> | undefined;
  return {
    get leading() {
      return held?.broken === false;
    },
    // Two calls at once must not campaign against each other.
    lead: () =>
      (asking ??= lead().finally(() => {
        asking = undefined;
      })),
    close: () => {
      closed = true;
      resign(held);
    },
  };
}

/** Ends a connection, and the lock with it, in whatever state they are. */
function drop(connection: Lease): void {
  connection.spoil();
  connection.release();
}

/** Runs a query on a connection, which is cut if it does not answer. */
async function answer(connection: Lease, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const late = () => {
    connection.destroy();
    return new Error(`Connection terminated: no answer within ${ANSWER_TIMEOUT_MS} ms`);
  };
  try {
    return await withDeadline(connection.client.query(query), ANSWER_TIMEOUT_MS, late);
  } catch (error) {
    throw ledgerError(error);
  }
}

/** The result of work that one process does at a time; `taken` when another process leads. */
export type LeadershipResult<T> =
  { readonly kind: "done"; readonly value: T } | { readonly kind: "taken" };

/**
 * Runs `work` while this process leads under a name; returns `taken` at once when another process
 * leads. The signal aborts when the lead is lost and another process may begin.
 *
 * @throws `database_unavailable`, what `work` threw
 */
export async function withLeadership<T>(
  pool: pg.Pool,
  name: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<LeadershipResult<T>> {
  const leader = createLeader({ pool }, name);
  try {
    const lost = await leader.lead();
    if (lost === undefined) return { kind: "taken" };
    return { kind: "done", value: await work(lost) };
  } finally {
    leader.close();
  }
}

/** The leader as Postgres shows it. What the database role may not see of other connections is undefined. */
export interface FoundLeader {
  /** The leader's address; also undefined on a local socket. */
  readonly address: string | undefined;
  /** Milliseconds since it took or confirmed the lead. */
  readonly seenMsAgo: number | undefined;
}

/** The two halves of the lock's key are unsigned numbers in pg_locks. */
const FIND = `
SELECT host(a.client_addr) AS address,
  extract(epoch FROM clock_timestamp() - a.state_change)::float8 * 1000 AS seen_ms_ago
FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::bigint << 32 | l.objid::bigint)
    = hashtextextended('millrace.leader.' || $1, 0)`;

/**
 * Finds the leader under a name; undefined when there is none.
 *
 * @throws `database_unavailable`
 */
export async function findLeader(pool: pg.Pool, name: string): Promise<FoundLeader | undefined> {
  try {
    const { rows } = await pool.query<{ address: string | null; seen_ms_ago: number | null }>(
      FIND,
      [name],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    return { address: row.address ?? undefined, seenMsAgo: row.seen_ms_ago ?? undefined };
  } catch (error) {
    throw ledgerError(error);
  }
}
