import { createConnection } from "node:net";
import type pg from "pg";
import { ledgerError } from "./database-errors.ts";
import { withKnownName } from "./prepared-name.ts";
import { SQLSTATE } from "./sqlstate.ts";
import { TransactionEnd } from "./transaction-end.ts";

/**
 * Why a connection that works is closed: a handler changed its session by a statement of its own (`session`),
 * or what a handler may have left on it was not removed (`uncleaned`).
 */
export type ResetReason = "session" | "uncleaned";

/** A connection taken from the pool, which goes back only when its state is known. */
export interface Lease {
  readonly client: pg.PoolClient;
  /** True once the connection has died or was destroyed. */
  readonly broken: boolean;
  /** True from a handler's first query until the end of its transaction has removed what it may have left. */
  isTouched: boolean;
  /** Keeps the connection from being reused; the reason is what `release` gives. */
  spoil(reason?: ResetReason): void;
  /** Cancels what the backend is doing and cuts the connection, without waiting for an answer. */
  destroy(): void;
  /**
   * Gives it back: for reuse when no transaction is open on it and no handler has left anything, otherwise to
   * be closed. Says why if it is a handler's doing.
   */
  release(): ResetReason | undefined;
}

/** Connections to a server that has turned out to be read-only. */
const readOnly = new WeakSet<pg.ClientBase>();

/**
 * Lets each connection on which Postgres refuses a write as read-only be closed instead of reused: the name that it
 * was opened by may lead to another server by now.
 */
export function closeReadOnly(pool: pg.Pool): void {
  pool.on("connect", (client) => {
    client.connection.on("errorMessage", ({ code }: { code?: string }) => {
      if (code === SQLSTATE.readOnlyTransaction) readOnly.add(client);
    });
  });
}

/**
 * Takes a connection from the pool.
 *
 * @throws `database_unavailable` when the pool has none in time.
 */
export async function lease(pool: pg.Pool): Promise<Lease> {
  const client = await connect(pool);
  let broken = false;
  let isSpoiled = false;
  let reset: ResetReason | undefined;
  const onEnd = () => {
    broken = true;
  };
  client.on("error", onEnd);
  client.on("end", onEnd);
  const held: Lease = {
    client,
    get broken() {
      return broken;
    },
    isTouched: false,
    spoil: (reason) => {
      isSpoiled = true;
      reset ??= reason;
    },
    destroy: () => {
      if (!broken) requestCancel(client);
      broken = true;
      client.connection.stream.destroy();
    },
    release: () => {
      client.off("error", onEnd);
      client.off("end", onEnd);
      const { isTouched } = held;
      const isClean = !broken && !isSpoiled && !isTouched && !readOnly.has(client);
      client.release(!isClean || client.getTransactionStatus() !== "I");
      if (broken) return undefined;
      return reset ?? (isTouched ? "uncleaned" : undefined);
    },
  };
  return held;
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

type Sendable = pg.QueryConfig | TransactionEnd;

/**
 * Sends statements together on a pipelined connection, waits for all answers, and throws the first
 * error. On a connection without a pipeline they are sent one by one.
 */
export async function pipeline(
  client: pg.PoolClient,
  queries: readonly Sendable[],
): Promise<pg.QueryResult[]> {
  if (!client.pipeline) return await oneByOne(client, queries);
  // All of them are awaited even after an error, so that the connection's state is known.
  const { stream } = client.connection;
  stream.cork();
  const sent = queries.map((query) => send(client, query));
  stream.uncork();
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === "rejected") throw answer.reason;
    return answer.value;
  });
}

async function oneByOne(
  client: pg.PoolClient,
  queries: readonly Sendable[],
): Promise<pg.QueryResult[]> {
  const answers: pg.QueryResult[] = [];
  for (const query of queries) answers.push(await send(client, query));
  return answers;
}

function send(client: pg.PoolClient, query: Sendable): Promise<pg.QueryResult> {
  if (query instanceof TransactionEnd) return query.send(client);
  return client.query(withKnownName(client, query));
}
