import { createConnection } from "node:net";
import type pg from "pg";
import { serialize } from "pg-protocol";
import { throwLedgerError } from "./database-errors.ts";
import { command, sendBatch, type Statement } from "./pipeline.ts";
import { keepsPrepared } from "./statement.ts";
import { SQLSTATE } from "./sqlstate.ts";

export type ResetReason = "session" | "uncleaned";

/** A connection taken from the pool, which goes back only when its state is known. */
export interface PooledConnection {
  readonly client: pg.PoolClient;
  readonly broken: boolean;
  /** True from a handler's first query until the end of its transaction has cleaned up after it. */
  isTouched: boolean;
  discard(reason?: ResetReason): void;
  /** Cancels what the backend is doing and cuts the connection, without waiting for an answer. */
  destroy(): void;
  /** Gives it back, or closes it. Returns the handler's doing. */
  release(): ResetReason | undefined;
}

const readOnly = new WeakSet<pg.ClientBase>();

/** Closes a connection on which Postgres refuses a write: its name may lead elsewhere by now. */
export function closeReadOnly(pool: pg.Pool): void {
  pool.on("connect", (client) => {
    client.connection.on("errorMessage", ({ code }: { code?: string }) => {
      if (code === SQLSTATE.readOnlyTransaction) readOnly.add(client);
    });
  });
}

/** @throws `database_unavailable` when the pool has none in time */
export async function acquireConnection(pool: pg.Pool): Promise<PooledConnection> {
  const client = await pool.connect().catch(throwLedgerError);
  let broken = false;
  let isDiscarded = false;
  let reset: ResetReason | undefined;
  const onEnd = () => {
    broken = true;
  };
  client.on("error", onEnd);
  client.on("end", onEnd);
  const connection: PooledConnection = {
    client,
    get broken() {
      return broken;
    },
    isTouched: false,
    discard: (reason) => {
      isDiscarded = true;
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
      const { isTouched } = connection;
      const isClean = !broken && !isDiscarded && !isTouched && !readOnly.has(client);
      client.release(!isClean || client.getTransactionStatus() !== "I");
      if (broken) return undefined;
      return reset ?? (isTouched ? "uncleaned" : undefined);
    },
  };
  return connection;
}

const CANCEL_TIMEOUT_MS = 2_000;

/**
 * A backend does not notice that its socket is gone, and would keep its locks. Best effort.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html "Canceling Requests in Progress"
 */
function requestCancel(client: pg.PoolClient): void {
  const { processID, secretKey } = client as { processID?: unknown; secretKey?: unknown };
  if (typeof processID !== "number" || typeof secretKey !== "number") return;
  const socket = client.host.startsWith("/")
    ? createConnection({ path: `${client.host}/.s.PGSQL.${client.port}` })
    : createConnection({ host: client.host, port: client.port });
  socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("connect", () => socket.end(serialize.cancel(processID, secretKey)));
  socket.resume();
}

/**
 * `DISCARD ALL`, but keeps prepared statements and plans. `RESET ALL` alone would keep the role.
 * @see https://www.postgresql.org/docs/current/sql-discard.html
 */
const CLEANING = [
  "CLOSE ALL",
  "RESET SESSION AUTHORIZATION",
  "RESET ROLE",
  "RESET ALL",
  "UNLISTEN *",
  "SELECT pg_catalog.pg_advisory_unlock_all()",
  "DISCARD TEMP",
  "DISCARD SEQUENCES",
].map(command);

const SERVER = { text: "SELECT pg_catalog.pg_backend_pid()::text AS pid" };

/** A deferred constraint that refuses COMMIT would give a pooler the backend before it is clean. */
const CHECK = { text: "SET CONSTRAINTS ALL IMMEDIATE" };

/** For each connection, whether it has a server process of its own; unknown at first. */
const isDirect = new WeakMap<pg.ClientBase, boolean>();

/**
 * Sends statements, then COMMIT or ROLLBACK, and the cleaning behind it: in the same message, since
 * a pooler would send a later one to another backend. The ending's own answer counts. After an
 * error behind it, the connection is closed: the cleaning was undone.
 * @throws the error of a statement, behind which nothing has ended
 */
export async function end(
  connection: PooledConnection,
  ending: "COMMIT" | "ROLLBACK",
  statements: readonly Statement[] = [],
): Promise<pg.QueryResult> {
  const { client, isTouched } = connection;
  const isOwn = isDirect.get(client);
  // Behind a pooler a name can be missing, and the error would undo the cleaning.
  const toSend = ({ text }: Statement) => (isOwn === true ? command(text) : { text });
  const isChecked = isTouched && ending === "COMMIT" && isOwn !== true;
  const begun = isChecked ? [...statements, CHECK] : statements;
  const asked = isTouched && isOwn === undefined && keepsPrepared(client) ? [SERVER] : [];
  const cleaning = isTouched ? CLEANING.map(toSend) : [];
  const sent = [...begun, toSend(command(ending)), ...cleaning, ...asked];
  const { results, error } = await sendBatch(client, sent);
  const ended = results[begun.length];
  if (error !== undefined) {
    if (results.length >= begun.length) connection.discard("uncleaned");
    if (ended === undefined) throw error;
    return ended;
  }
  connection.isTouched = false;
  // A pooler gives its clients made-up process ids, for their cancel requests.
  const { processID } = client as { processID?: unknown };
  if (asked.length > 0) isDirect.set(client, results.at(-1)?.rows[0]?.pid === String(processID));
  return ended as pg.QueryResult;
}

export interface ConnectionReset {
  readonly source: string;
  readonly reason: ResetReason;
}

export function releaseHandlers(
  { onReset }: { readonly onReset?: ((reset: ConnectionReset) => void) | undefined },
  connection: PooledConnection,
  source: string,
): void {
  const reason = connection.release();
  if (reason !== undefined) onReset?.({ source, reason });
}
