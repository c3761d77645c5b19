import { createConnection } from "node:net";
import type pg from "pg";
import { ledgerError } from "./database-errors.ts";

/** A connection taken from the pool, which goes back only when its state is known. */
export interface Lease {
  readonly client: pg.PoolClient;
  /** True once the connection has died or was destroyed. */
  readonly broken: boolean;
  /** Keeps the connection from being reused: its session was changed. */
  spoil(): void;
  /** Cancels what the backend is doing and cuts the connection, without waiting for an answer. */
  destroy(): void;
  /** Gives it back: for reuse when no transaction is open on it, otherwise to be closed. */
  release(): void;
}

/**
 * Takes a connection from the pool.
 *
 * @throws `database_unavailable` when the pool has none in time.
 */
export async function lease(pool: pg.Pool): Promise<Lease> {
  const client = await connect(pool);
  let broken = false;
  let spoiled = false;
  const onEnd = () => {
    broken = true;
  };
  client.on("error", onEnd);
  client.on("end", onEnd);
  return {
    client,
    get broken() {
      return broken;
    },
    spoil: () => {
      spoiled = true;
    },
    destroy: () => {
      if (!broken) requestCancel(client);
      broken = true;
      client.connection.stream.destroy();
    },
    release: () => {
      client.off("error", onEnd);
      client.off("end", onEnd);
      client.release(broken || spoiled || client.getTransactionStatus() !== "I");
    },
  };
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw ledgerError(error);
  }
}

const CANCEL_REQUEST_CODE = 80_877_102;
const CANCEL_TIMEOUT_MS = 2_000;

/**
 * Asks the server to cancel what a backend is doing. A backend that runs a statement does not notice
 * that its socket is gone, and would keep its locks until the statement ends. Best effort:
 * statement_timeout ends the statement in any case.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html "Canceling Requests in Progress"
 */
function requestCancel(client: pg.PoolClient): void {
  const { processID, secretKey } = client as { processID?: unknown; secretKey?: unknown };
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = client.host.startsWith("/")
    ? createConnection({ path: `${client.host}/.s.PGSQL.${client.port}` })
    : createConnection({ host: client.host, port: client.port });
  socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("connect", () => socket.end(request));
  socket.resume();
}

/**
 * Sends statements together on a pipelined connection, waits for all answers, and throws the first
 * error. On a connection without a pipeline they are sent one by one.
 */
export async function pipeline(
  client: pg.PoolClient,
  queries: readonly pg.QueryConfig[],
): Promise<pg.QueryResult[]> {
  if (!client.pipeline) return await oneByOne(client, queries);
  // All of them are awaited even after an error, so that the connection's state is known.
  const { stream } = client.connection;
  stream.cork();
  const sent = queries.map((query) => client.query(query));
  stream.uncork();
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  });
}

async function oneByOne(
  client: pg.PoolClient,
  queries: readonly pg.QueryConfig[],
): Promise<pg.QueryResult[]> {
  const answers: pg.QueryResult[] = [];
  for (const query of queries) answers.push(await client.query(query));
  return answers;
}
