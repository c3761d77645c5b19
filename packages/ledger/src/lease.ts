import { createConnection } from "node:net";
import type pg from "pg";
import { ledgerError } from "./database-trouble.ts";

/** A connection lent from the pool, which goes back only when its state is known. */
export interface Lease {
  readonly client: pg.PoolClient;
  /** True once the connection has died or was destroyed. */
  readonly broken: boolean;
  /** Keeps the connection from being lent again: its session was changed. */
  spoil(): void;
  /** Ends what the backend is doing and cuts the connection, without waiting for an answer. */
  destroy(): void;
  /** Gives it back: to be lent again when no transaction is open on it, else to be closed. */
  release(): void;
}

/**
 * Lends a connection.
 *
 * @throws `database_unavailable` when there is none to be had.
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
 * Asks the server to end what a backend is doing. A backend that runs a statement does not see that
 * its socket is gone, and would keep its locks until the statement ends. Best effort: whatever
 * becomes of it, statement_timeout ends the statement too.
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
