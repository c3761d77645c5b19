import pg from "pg";
import type { Lease } from "./connection.ts";
import { keepsPrepared } from "./prepared-name.ts";

/**
 * Removes what a handler can leave behind on its connection. It is `DISCARD ALL` without the part that drops
 * prepared statements, which are the ledger's own, and without `DISCARD PLANS`. `RESET ALL` leaves the role and
 * the user as they are, so these have statements of their own. What the connection was opened with (the
 * startup packet, `ALTER ROLE ... SET`) stays.
 *
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
 * The cleanings of a connection, in turn. The SELECT is the only statement that Postgres plans, which takes longer than
 * most of the others, so that it is prepared: where each transaction runs in the same backend, which the first one finds
 * out. Behind a pooler the prepared statement might be missing, and the error would undo the whole cleaning.
 */
const CLEANINGS = {
  first: cleaning(`${UNLOCK}, pg_catalog.pg_backend_pid()`),
  preparing: cleaning(`PREPARE millrace_unlock AS ${UNLOCK}; EXECUTE millrace_unlock`),
  prepared: cleaning("EXECUTE millrace_unlock"),
  unprepared: cleaning(UNLOCK),
};
type CleaningKind = keyof typeof CLEANINGS;

/** The next cleaning of each connection that had one. */
const nextCleanings = new WeakMap<pg.ClientBase, CleaningKind>();

function nextCleaning(client: pg.ClientBase): CleaningKind {
  return keepsPrepared(client) ? (nextCleanings.get(client) ?? "first") : "unprepared";
}

type Ending = "COMMIT" | "ROLLBACK";

/**
 * Behind a pooler, a COMMIT that is refused gives the backend to somebody else before it is clean. Deferred constraints, which
 * are what refuses it, are checked before it there: then the transaction is still open, and its ROLLBACK cleans.
 */
const CHECK = "SET CONSTRAINTS ALL IMMEDIATE";
const checksFirst = (kind: CleaningKind) => kind === "first" || kind === "unprepared";

/**
 * What ends the transaction of a lease, to be sent. After a handler's queries it also removes what they left,
 * in the same message: behind a pooler in transaction mode, a later one would reach another server connection.
 */
export function endOf(held: Lease, ending: Ending): pg.QueryConfig | TransactionEnd {
  return held.isTouched ? new TransactionEnd(held, ending) : { text: ending };
}

/** What pg calls for the messages of an answer. Its types have none of it. */
interface AnswerHandler {
  handleCommandComplete(message: { readonly text: string }): void;
  handleRowDescription(): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleError(error: unknown): void;
  handleReadyForQuery(): void;
}

/**
 * COMMIT or ROLLBACK and the cleaning, in one simple-protocol message. Postgres ends the transaction by that
 * statement and runs the others in an implicit one behind it. So its answer counts, whatever follows: after
 * an error behind it the event is what the COMMIT made of it, and the connection is closed, because the cleaning
 * was undone as a whole. If the COMMIT itself fails, nothing behind it runs, and the connection is closed too.
 *
 * A query of pg keeps no answer if an error follows, and makes a result of each.
 *
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT
 */
export class TransactionEnd extends pg.Query implements AnswerHandler {
  private readonly held: Lease;
  private readonly kind: CleaningKind;
  /** True until the constraints are checked that are checked before the COMMIT. */
  private isChecking: boolean;
  private backendPid: string | null | undefined;
  private command: string | undefined;
  private resolve: (result: pg.QueryResult) => void = () => {};
  private reject: (error: unknown) => void = () => {};

  constructor(held: Lease, ending: Ending) {
    const kind = nextCleaning(held.client);
    const isChecking = ending === "COMMIT" && checksFirst(kind);
    super(`${isChecking ? `${CHECK}; ` : ""}${ending}; ${CLEANINGS[kind]}`);
    this.held = held;
    this.kind = kind;
    this.isChecking = isChecking;
  }

  /** Sends it. The result has the command that ended the transaction: ROLLBACK for a COMMIT of an aborted one. */
  send(client: pg.PoolClient): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      client.query(this);
    });
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    if (this.isChecking) this.isChecking = false;
    else this.command ??= text;
  }

  handleRowDescription(): void {}

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.backendPid = fields[1];
  }

  handleError(error: unknown): void {
    if (!this.isChecking) this.held.spoil("uncleaned");
    if (this.command === undefined) this.reject(error);
    else this.end(this.command);
  }

  handleReadyForQuery(): void {
    this.held.isTouched = false;
    this.learn();
    this.end(this.command ?? "");
  }

  /** A pooler gives its clients made-up process ids, for their cancel requests. */
  private learn(): void {
    const { client } = this.held;
    if (this.kind === "preparing") nextCleanings.set(client, "prepared");
    if (this.kind !== "first") return;
    const isDirect = this.backendPid === String((client as { processID?: unknown }).processID);
    nextCleanings.set(client, isDirect ? "preparing" : "unprepared");
  }

  private end(command: string): void {
    this.resolve({ command, rowCount: null, oid: 0, fields: [], rows: [] });
  }
}
