import { createConnection } from "node:net";
import pg from "pg";
import { ledgerError } from "./database-errors.ts";
import { keepsPrepared } from "./statement.ts";
import { SQLSTATE } from "./sqlstate.ts";

/** A statement of the handler changed the session, or the cleanup failed. */
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
  const client = await connect(pool);
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
 * A backend does not notice that its socket is gone, and would keep its locks. Best effort.
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
 * `DISCARD ALL`, but keeps prepared statements and plans. `RESET ALL` alone would keep the role.
 * @see https://www.postgresql.org/docs/current/sql-discard.html
 */
const cleaning = (unlock: string) =>
  [
    "CLOSE ALL",
    "RESET SESSION AUTHORIZATION",
    "RESET ROLE",
    "RESET ALL",
    "UNLISTEN *",
    unlock,
    "DISCARD TEMP",
    "DISCARD SEQUENCES",
  ].join("; ");

const UNLOCK = "SELECT pg_catalog.pg_advisory_unlock_all()";

/**
 * The SELECT is the only statement that Postgres plans, so it is prepared. Behind a pooler it might
 * be missing, and the error would undo the whole cleaning.
 */
const CLEANINGS = {
  first: cleaning(`${UNLOCK}, pg_catalog.pg_backend_pid()`),
  preparing: cleaning(`PREPARE millrace_unlock AS ${UNLOCK}; EXECUTE millrace_unlock`),
  prepared: cleaning("EXECUTE millrace_unlock"),
  unprepared: cleaning(UNLOCK),
};
type CleaningKind = keyof typeof CLEANINGS;

const nextCleanings = new WeakMap<pg.ClientBase, CleaningKind>();

function nextCleaning(client: pg.ClientBase): CleaningKind {
  return keepsPrepared(client) ? (nextCleanings.get(client) ?? "first") : "unprepared";
}

type Ending = "COMMIT" | "ROLLBACK";

/** A deferred constraint that refuses COMMIT would give a pooler the backend before it is clean. */
const CHECK = "SET CONSTRAINTS ALL IMMEDIATE";

/** Cleans up in the same message: behind a pooler, a later one would reach another backend. */
export function endOf(
  connection: PooledConnection,
  ending: Ending,
): pg.QueryConfig | TransactionEnd {
  return connection.isTouched ? new TransactionEnd(connection, ending) : { text: ending };
}

interface AnswerHandler {
  handleCommandComplete(message: { readonly text: string }): void;
  handleRowDescription(): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleError(error: unknown): void;
  handleReadyForQuery(): void;
}

/**
 * COMMIT or ROLLBACK and the cleaning, in one simple-protocol message. The ending's own answer
 * counts; after an error behind it, the connection is closed, because the cleaning was undone. A
 * query of pg keeps no answer if an error follows.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT
 */
export class TransactionEnd extends pg.Query implements AnswerHandler {
  readonly #connection: PooledConnection;
  readonly #kind: CleaningKind;
  #isChecking: boolean;
  #backendPid: string | null | undefined;
  #command: string | undefined;
  #resolve: (result: pg.QueryResult) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(connection: PooledConnection, ending: Ending) {
    const kind = nextCleaning(connection.client);
    const isChecking = ending === "COMMIT" && (kind === "first" || kind === "unprepared");
    super(`${isChecking ? `${CHECK}; ` : ""}${ending}; ${CLEANINGS[kind]}`);
    this.#connection = connection;
    this.#kind = kind;
    this.#isChecking = isChecking;
  }

  /** Sends it. The result's command is ROLLBACK for a COMMIT of an aborted transaction. */
  send(client: pg.PoolClient): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      client.query(this);
    });
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    if (this.#isChecking) this.#isChecking = false;
    else this.#command ??= text;
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#backendPid = fields[1];
  }

  handleError(error: unknown): void {
    if (!this.#isChecking) this.#connection.discard("uncleaned");
    if (this.#command === undefined) this.#reject(error);
    else this.#end(this.#command);
  }

  handleReadyForQuery(): void {
    this.#connection.isTouched = false;
    this.#learn();
    this.#end(this.#command ?? "");
  }

  /** A pooler gives its clients made-up process ids, for their cancel requests. */
  #learn(): void {
    const { client } = this.#connection;
    if (this.#kind === "preparing") nextCleanings.set(client, "prepared");
    if (this.#kind !== "first") return;
    const isDirect = this.#backendPid === String((client as { processID?: unknown }).processID);
    nextCleanings.set(client, isDirect ? "preparing" : "unprepared");
  }

  #end(command: string): void {
    this.#resolve({ command, rowCount: null, oid: 0, fields: [], rows: [] });
  }
}
