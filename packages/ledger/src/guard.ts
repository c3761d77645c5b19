import { MillraceError, type HandlerTransaction } from "@millrace/core";
import { NodePgSession, NodePgTransaction } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import type pg from "pg";
import { databaseUnavailable, isConnectionError } from "./database-errors.ts";
import type { Lease } from "./connection.ts";
import { causes } from "./sqlstate.ts";
import { Savepoints, statementKind, type StatementKind } from "./transaction-control.ts";

/** Wraps the connection given to a handler: refuses transaction control, and can be revoked. */
export interface Guard {
  /** What drizzle gets in place of the connection. */
  readonly client: { query(config: unknown, values?: unknown[]): Promise<pg.QueryResult> };
  /** Refuses every further query with `tx_closed`. */
  seal(): void;
  /** Resolves when every query that was sent has been answered. */
  idle(): Promise<void>;
  /** The first error of a query, even if the handler swallowed it. */
  readonly firstError: unknown;
  /**
   * Checks, after a handler has returned, that it left the transaction the way it got it.
   * @throws `tx_control_refused`, `tx_closed`
   */
  check(): void;
  /** What to throw for an error of the handler: our own refusal, `database_unavailable`, or itself. */
  explain(error: unknown): unknown;
}

/**
 * Guards a connection while a handler has it. Every query uses the extended protocol, which takes a
 * single statement, so a COMMIT cannot hide behind another statement in the same string.
 */
export function createGuard(held: Lease): Guard {
  const state: GuardState = {
    held,
    sealed: false,
    savepoints: new Savepoints(),
    inFlight: new Set(),
    seen: new WeakSet(),
    refusal: undefined,
    firstError: undefined,
  };
  return {
    client: {
      query: (config, values) => guardedQuery(state, config, values),
    },
    seal: () => {
      state.sealed = true;
    },
    idle: async () => {
      await Promise.allSettled(state.inFlight);
    },
    get firstError() {
      return state.firstError;
    },
    check: () => check(state),
    explain: (error) => explain(state, error),
  };
}

/**
 * The transaction that a handler gets. It is drizzle's transaction and not its database, so that a
 * nested `transaction()` is a savepoint; a database would send BEGIN and COMMIT on our connection.
 */
export function handlerTransaction(guard: Guard): HandlerTransaction {
  // drizzle calls nothing of a client but `query`.
  const client = guard.client as unknown as ConstructorParameters<typeof NodePgSession>[0];
  // One for each transaction: a dialect remembers the columns of a table by the table's name, and another
  // handler may define that table with other columns.
  const dialect = new PgDialect();
  const session = new NodePgSession<Record<string, unknown>, Record<string, never>>(
    client,
    dialect,
    undefined,
  );
  return new NodePgTransaction(dialect, session, undefined);
}

interface GuardState {
  readonly held: Lease;
  sealed: boolean;
  readonly savepoints: Savepoints;
  readonly inFlight: Set<Promise<unknown>>;
  readonly seen: WeakSet<Error>;
  refusal: MillraceError | undefined;
  firstError: unknown;
}

async function guardedQuery(
  state: GuardState,
  config: unknown,
  values?: unknown[],
): Promise<pg.QueryResult> {
  const query = readQuery(config, values);
  const kind = admit(state, query.text);
  const sent = state.held.client.query(query);
  state.inFlight.add(sent);
  try {
    const result = await sent;
    if (kind === "savepoint" || kind === "savepoint_end") state.savepoints.apply(query.text);
    return result;
  } catch (error) {
    state.firstError ??= error;
    if (error instanceof Error) state.seen.add(error);
    throw error;
  } finally {
    state.inFlight.delete(sent);
  }
}

function admit(state: GuardState, text: string): StatementKind {
  if (state.sealed) {
    throw new MillraceError("tx_closed", "Cannot use the transaction: its handler has returned");
  }
  const kind = statementKind(text);
  if (kind === "control") {
    state.refusal ??= new MillraceError(
      "tx_control_refused",
      "Cannot begin or end a transaction in a handler: it is committed with the event",
    );
    throw state.refusal;
  }
  if (kind === "session") state.held.spoil();
  return kind;
}

// drizzle passes pg's own config. Only the parts that are known to be safe are passed on: `queryMode` is
// ours, and `rows` or a Submittable would hold a portal open.
function readQuery(
  config: unknown,
  values: unknown[] | undefined,
): pg.QueryConfig & { queryMode: "extended" } {
  const given = typeof config === "string" ? { text: config } : config;
  if (!isQueryConfig(given)) {
    throw new MillraceError(
      "tx_control_refused",
      "Cannot run this in a handler: it is not a query",
    );
  }
  const rowMode = given.rowMode === undefined ? {} : { rowMode: given.rowMode };
  return {
    text: given.text,
    values: values ?? given.values ?? [],
    name: given.name,
    types: given.types,
    ...rowMode,
    queryMode: "extended",
  };
}

function isQueryConfig(value: unknown): value is pg.QueryConfig & { rowMode?: "array" } {
  return (
    typeof value === "object" && value !== null && "text" in value && typeof value.text === "string"
  );
}

function check(state: GuardState): void {
  if (state.refusal !== undefined) throw state.refusal;
  if (state.savepoints.isAnyOpen) {
    throw new MillraceError(
      "tx_closed",
      "Cannot complete the event: its handler returned while a nested transaction was open",
    );
  }
}

function explain(state: GuardState, error: unknown): unknown {
  if (state.refusal !== undefined) return state.refusal;
  const isOurs = [...causes(error)].some((link) => state.seen.has(link));
  return isOurs && isConnectionError(error) ? databaseUnavailable(error) : error;
}
