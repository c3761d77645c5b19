import {
  AwaitedCalls,
  MillraceError,
  notAwaited,
  unknownKey,
  type EmittedEvent,
  type HandlerTransaction,
} from "@millrace/core";
import { getTableName, type Table } from "drizzle-orm";
import { NodePgSession, NodePgTransaction } from "drizzle-orm/node-postgres";
import { PgDialect } from "drizzle-orm/pg-core";
import type pg from "pg";
import { databaseUnavailable, isConnectionError } from "../connection/database-errors.ts";
import type { PooledConnection } from "../connection/connection.ts";
import { Emitted, emitStatements, type EmitTarget } from "./emit.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { forgetPrepared, isStale, keepsPrepared, preparedName } from "../connection/statement.ts";
import { causes, isConflict, SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import {
  classify,
  readQuery,
  SAVEPOINT_PREFIX,
  Savepoints,
  type StatementKind,
} from "./transaction-control.ts";

type SendQuery = (query: pg.QueryConfig) => Promise<pg.QueryResult>;
export type GuardContext = Pick<LedgerContext, "find" | "tables">;

const LIMITED: ReadonlyMap<string, "contended" | "slow"> = new Map([
  [SQLSTATE.lockNotAvailable, "contended"],
  [SQLSTATE.deadlockDetected, "contended"],
  [SQLSTATE.queryCanceled, "slow"],
]);

export class Guard implements EmitTarget {
  /** The first error of a query, even if the handler swallowed it. */
  firstError: unknown;
  /** True once a statement had an effect that no savepoint undoes. */
  isUnsafe = false;
  /** In a group: why the run does not count, even if the handler swallowed the error. */
  trouble: "contended" | "slow" | "unsafe" | "undone" | undefined;
  readonly #ledger: GuardContext;
  readonly #connection: PooledConnection;
  readonly #sendShared: SendQuery | undefined;
  readonly #inFlight = new Set<Promise<unknown>>();
  #isSealed = false;
  #refusal: MillraceError | undefined;
  #savepoints: Savepoints | undefined;
  #seen: WeakSet<Error> | undefined;
  #emits: Emitted | undefined;
  #emitCalls: AwaitedCalls | undefined;
  #built: BuiltQueries | undefined;

  /** @param sendShared - of a run in a group, whose runs share the transaction. */
  constructor(ledger: GuardContext, connection: PooledConnection, sendShared?: SendQuery) {
    this.#ledger = ledger;
    this.#connection = connection;
    this.#sendShared = sendShared;
  }

  /** drizzle calls this as if it were a connection of pg. */
  async query(config: unknown, values?: unknown[]): Promise<pg.QueryResult> {
    const query = readQuery(config, values);
    const kind = this.#admit(query.text);
    if (kind === "other") query.name ??= preparedName(query.text);
    if (!keepsPrepared(this.#connection.client)) query.name = undefined;
    this.#connection.isTouched = true;
    const sent = this.#sendShared?.(query) ?? this.#connection.client.query(query);
    this.#inFlight.add(sent);
    try {
      const result = await sent;
      if (kind === "savepoint" || kind === "savepoint_end") {
        this.#savepoints ??= new Savepoints();
        const kept = this.#savepoints.apply(query.text, this.#emits?.count ?? 0);
        if (kept !== undefined) this.#emits?.keep(kept);
      }
      return result;
    } catch (error) {
      this.#note(error);
      throw error;
    } finally {
      this.#inFlight.delete(sent);
    }
  }

  transaction(): HandlerTransaction {
    const { tables } = this.#ledger;
    // drizzle calls nothing of a client but `query`.
    const client = this as unknown as ConstructorParameters<typeof NodePgSession>[0];
    // One for each transaction: a dialect remembers columns by the table's name.
    const dialect = (this.#built = new BuiltQueries());
    const session = new NodePgSession(client, dialect, tables);
    return dialect.watch(new NodePgTransaction(dialect, session, tables));
  }

  get emittedIfAny(): Emitted | undefined {
    return this.#emits;
  }

  get emitted(): Emitted {
    return (this.#emits ??= new Emitted());
  }

  emit(event: EmittedEvent): Promise<void> {
    this.#requireOpen();
    const isWritten = this.#savepoints?.isAnyOpen === true;
    this.emitted.add(event, { isWritten });
    const written = isWritten ? this.#writeNow(event) : Promise.resolve();
    return (this.#emitCalls ??= new AwaitedCalls()).track(`an emit to "${event.source}"`, written);
  }

  async #writeNow(event: EmittedEvent): Promise<void> {
    for (const { text, values } of emitStatements(this.#ledger, [event], null))
      await this.query(text, values);
  }

  #requireOpen(): void {
    if (!this.#isSealed) return;
    throw new MillraceError("tx_closed", "Cannot use the transaction: its handler has returned");
  }

  #admit(text: string): StatementKind {
    this.#requireOpen();
    const { kind, reachesPastSavepoint, isReserved, mayDeallocate } = classify(text);
    if (mayDeallocate) forgetPrepared(this.#connection.client);
    if (reachesPastSavepoint) this.isUnsafe = true;
    if (this.#sendShared !== undefined && (reachesPastSavepoint || this.#endsForeign(kind, text))) {
      this.trouble ??= "unsafe";
      this.firstError ??= new Error("Cannot run this statement in a group of first attempts");
      throw this.firstError;
    }
    if (kind === "control") {
      this.#refuse("begin or end a transaction in a handler: it is committed with the event");
    }
    if (kind === "copy") {
      // Nothing sends the rows that Postgres would wait for, or reads those that it would send.
      this.#refuse(
        "use COPY with STDIN or STDOUT in a handler: write rows with INSERT, and read them with SELECT",
      );
    }
    if (isReserved) {
      this.#refuse(
        `use this savepoint in a handler: names that begin with ${SAVEPOINT_PREFIX} are the ledger's`,
      );
    }
    if (kind === "session") this.#connection.discard("session");
    return kind;
  }

  #refuse(what: string): never {
    throw (this.#refusal ??= new MillraceError("tx_control_refused", `Cannot ${what}`));
  }

  #endsForeign(kind: StatementKind, text: string): boolean {
    return kind === "savepoint_end" && this.#savepoints?.has(text) !== true;
  }

  #note(error: unknown): void {
    this.firstError ??= error;
    if (this.#sendShared !== undefined) this.trouble ??= LIMITED.get(sqlStateOf(error) ?? "");
    if (isStale(error)) {
      this.#connection.discard();
      if (this.#sendShared !== undefined) this.trouble ??= "undone";
    }
    if (error instanceof Error) (this.#seen ??= new WeakSet()).add(error);
  }

  seal(): void {
    this.#isSealed = true;
  }

  async idle(): Promise<void> {
    if (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** @throws `tx_control_refused`, `tx_closed`, `query_not_awaited` */
  check(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#built?.check();
    this.#emitCalls?.check();
    if (this.#savepoints?.isAnyOpen === true) {
      throw new MillraceError(
        "tx_closed",
        "Cannot complete the event: its handler returned while a nested transaction was open",
      );
    }
  }

  explain(error: unknown): unknown {
    if (this.#refusal !== undefined) return this.#refusal;
    const isOurs = [...causes(error)].some((link) => this.#seen?.has(link) === true);
    // A prepared statement that no longer fits its tables: the next attempt prepares it anew.
    const isPassing = isConnectionError(error) || isStale(error);
    // A conflict is between handlers, and not the server's fault.
    return isOurs && isPassing && !isConflict(error) ? databaseUnavailable(error) : error;
  }
}

const VERBS = {
  insert: "an insert into",
  update: "an update of",
  delete: "a delete from",
} as const;
type Verb = keyof typeof VERBS;
const NEVER_RUN = "was built and never run";

type Built<Name extends "buildInsertQuery" | "buildUpdateQuery" | "buildDeleteQuery"> = Parameters<
  PgDialect[Name]
>[0];

// drizzle runs a query when it is awaited, and nothing notices one that never is. A query counts as
// run when its SQL was asked for, by its own run or by a query that contains it.
class BuiltQueries extends PgDialect {
  readonly #begun: { readonly verb: Verb; readonly table: Table }[] = [];
  readonly #asked = new Map<object, Verb>();
  readonly #raw = new Set<object>();

  watch(tx: HandlerTransaction): HandlerTransaction {
    const execute = tx.execute.bind(tx);
    const nest = tx.transaction.bind(tx);
    const begin = tx.with.bind(tx);
    const refresh = tx.refreshMaterializedView.bind(tx);
    return Object.assign(this.#noteVerbs(tx), {
      query: namedTables(tx.query),
      with: (...tables: Parameters<typeof begin>) => this.#noteVerbs(begin(...tables)),
      refreshMaterializedView: (view: Parameters<typeof refresh>[0]) =>
        this.#noteRaw(refresh(view)),
      execute: (...given: Parameters<typeof execute>) => this.#noteRaw(execute(...given)),
      transaction: (work: Parameters<typeof nest>[0]) => nest((inner) => work(this.watch(inner))),
    });
  }

  #noteVerbs<Builder extends Pick<HandlerTransaction, Verb>>(builder: Builder): Builder {
    for (const verb of ["insert", "update", "delete"] as const) {
      const begin = builder[verb].bind(builder) as (table: Table) => unknown;
      const noted = (table: Table) => {
        this.#begun.push({ verb, table });
        return begin(table);
      };
      Object.assign(builder, { [verb]: noted });
    }
    return builder;
  }

  #noteRaw<Raw extends { execute: () => unknown; getSQL: () => unknown }>(raw: Raw): Raw {
    this.#raw.add(raw);
    for (const name of ["execute", "getSQL"] as const) {
      const ask = raw[name].bind(raw);
      raw[name] = () => {
        this.#raw.delete(raw);
        return ask();
      };
    }
    return raw;
  }

  override buildInsertQuery(config: Built<"buildInsertQuery">) {
    this.#asked.set(config, "insert");
    return super.buildInsertQuery(config);
  }

  override buildUpdateQuery(config: Built<"buildUpdateQuery">) {
    this.#asked.set(config, "update");
    return super.buildUpdateQuery(config);
  }

  override buildDeleteQuery(config: Built<"buildDeleteQuery">) {
    this.#asked.set(config, "delete");
    return super.buildDeleteQuery(config);
  }

  /** @throws `query_not_awaited` */
  check(): void {
    const left = [...this.#asked].map(([config, verb]) => ({ config, verb }));
    for (const { verb, table } of this.#begun) {
      const at = left.findIndex(
        (asked) => asked.verb === verb && (asked.config as { table?: Table }).table === table,
      );
      if (at === -1) throw notAwaited(`${VERBS[verb]} "${getTableName(table)}" ${NEVER_RUN}`);
      left.splice(at, 1);
    }
    if (this.#raw.size > 0) throw notAwaited(`a query of tx.execute ${NEVER_RUN}`);
  }
}

function namedTables(query: HandlerTransaction["query"]): HandlerTransaction["query"] {
  return new Proxy(query, {
    get: (tables, name) => {
      if (typeof name === "symbol" || name in tables) return Reflect.get(tables, name);
      const known = Object.keys(tables);
      const why =
        known.length === 0
          ? "the config has no schema. Import your tables and add schema to defineConfig"
          : `the config's schema has no table ${unknownKey(name, known)}`;
      throw new TypeError(`Cannot read tx.query.${name}: ${why}`);
    },
  });
}
