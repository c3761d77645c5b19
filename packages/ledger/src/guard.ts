import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { databaseUnavailable, isConnectionTrouble } from "./database-trouble.ts";
import type { Lease } from "./lease.ts";
import { causes } from "./sqlstate.ts";
import { statementKind } from "./statement-kind.ts";

/** The connection as a handler has it: it cannot end its transaction, and it can be sealed. */
export interface Guard {
  /** What drizzle is given instead of the connection. */
  readonly client: { query(config: unknown, values?: unknown[]): Promise<pg.QueryResult> };
  /** From now on every query is refused with `tx_closed`, and nothing more is sent. */
  seal(): void;
  /** Resolves when every query that was sent has been answered. */
  idle(): Promise<void>;
  /** The first error of a query, also when the handler swallowed it. */
  readonly firstError: unknown;
  /**
   * Checks, after a handler has returned, that it left the transaction as it was given.
   * @throws `tx_control_refused`, `tx_closed`
   */
  check(): void;
  /** What to throw for an error of the handler: our own refusal, or trouble of the database. */
  explain(error: unknown): unknown;
}

/**
 * Guards a connection while a handler has it. Every query goes by the extended protocol, which takes
 * a single statement, so that a COMMIT cannot hide behind another statement in one string.
 */
export function createGuard(held: Lease): Guard {
  const state: GuardState = {
    held,
    sealed: false,
    savepoints: 0,
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

interface GuardState {
  readonly held: Lease;
  sealed: boolean;
  savepoints: number;
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
  admit(state, query.text);
  const sent = state.held.client.query(query);
  state.inFlight.add(sent);
  try {
    return await sent;
  } catch (error) {
    state.firstError ??= error;
    if (error instanceof Error) state.seen.add(error);
    throw error;
  } finally {
    state.inFlight.delete(sent);
  }
}

function admit(state: GuardState, text: string): void {
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
  if (kind === "savepoint") state.savepoints += 1;
  if (kind === "savepoint_end") state.savepoints = Math.max(0, state.savepoints - 1);
  if (kind === "session") state.held.spoil();
}

// drizzle passes pg's own config. Only what is known to be safe of it goes on: `queryMode` is ours,
// and `rows` or a Submittable would hold a portal open.
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
  if (state.savepoints > 0) {
    throw new MillraceError(
      "tx_closed",
      "Cannot complete the event: its handler returned while a nested transaction was open",
    );
  }
}

function explain(state: GuardState, error: unknown): unknown {
  if (state.refusal !== undefined) return state.refusal;
  const isOurs = [...causes(error)].some((link) => state.seen.has(link));
  return isOurs && isConnectionTrouble(error) ? databaseUnavailable(error) : error;
}
