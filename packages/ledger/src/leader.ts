import { within } from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "./database-trouble.ts";
import { lease, type Lease } from "./lease.ts";

/** Of all processes on one database, at most one leads under a name. */
export interface Leader {
  /** True while this process leads, as far as it knows. */
  readonly leading: boolean;
  /**
   * Takes the lead, or makes sure that it is still there: to be called before each round of work, and
   * now and then within a long one. Gives a signal that aborts when the lead is lost; undefined while
   * another process leads.
   *
   * @throws `database_unavailable`; the lead is lost then.
   */
  lead(): Promise<AbortSignal | undefined>;
  /** Gives the lead up, for another process to take. To be called before the pool is ended. */
  close(): void;
}

/** Milliseconds after which a connection that does not answer is given up. */
const ANSWER_TIMEOUT_MS = 5_000;

/** What pg_stat_activity calls a leader's connection. */
const APPLICATION_NAME = "millrace-leader";

/**
 * Postgres frees the lock when the connection ends. That of a machine that vanished without a word is
 * found dead by keepalives after half a minute, and not after the two hours that are usual.
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
 * process leads. What a leader does must do no harm when another does it too: one that was cut off
 * goes on until it notices.
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
    // Two who ask at once must not campaign against each other.
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

/** Ends a connection, and with it the lock, whatever has become of either. */
function drop(connection: Lease): void {
  connection.spoil();
  connection.release();
}

/** Asks on a connection; one that does not answer is cut. */
async function answer(connection: Lease, query: pg.QueryConfig): Promise<pg.QueryResult> {
  const late = () => {
    connection.destroy();
    return new Error(`Connection terminated: no answer within ${ANSWER_TIMEOUT_MS} ms`);
  };
  try {
    return await within(connection.client.query(query), ANSWER_TIMEOUT_MS, late);
  } catch (error) {
    throw ledgerError(error);
  }
}
