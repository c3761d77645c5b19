import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ExtractTablesWithRelations } from "drizzle-orm";
import type { NodePgQueryResultHKT } from "drizzle-orm/node-postgres";
import type { PgTransaction } from "drizzle-orm/pg-core";

/** The result of JSON.parse, so that `event.payload.amount` compiles; name your own type with
 * `on<Payload>()`. */
// oxlint-disable-next-line typescript/no-explicit-any -- as of JSON.parse
export type JsonPayload = any;

/** The event that a handler gets. */
export interface WebhookEvent<Payload = JsonPayload, Data = JsonPayload> {
  readonly source: string;
  /** The sender's id of the event; of a source with tenants, `<tenant>/<id>`. */
  readonly id: string;
  /** The tenant in the URL, of a source with `secrets`. */
  readonly tenant: string | undefined;
  /** True when a person edited the body on the dashboard and sent it: it is not from the sender. */
  readonly edited: boolean;
  readonly type: string;
  readonly generation: number;
  /** Which run of the handlers this is, from 1. */
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly headers: Readonly<Record<string, string>>;
  readonly unsigned: boolean;
  /** The body parsed as JSON on first use; of a form, the JSON in its field `payload`, as GitHub
   * and Slack send it. Throws a PermanentError when there is none. */
  readonly payload: Payload;
  /**
   * The payload without the sender's wrapper, such as `data` of Stripe or `payload` of Hook Mesh.
   * The payload itself where the provider has no wrapper, or the payload has no such field.
   */
  readonly data: Data;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array;
  /**
   * The text of a value of the payload as it was sent, with all digits of a number:
   * `text("data.amount")`. Names and indexes of an array with dots between; of two equal names the
   * last counts. Undefined for null, and where there is none. Throws as `payload` does.
   */
  text(path: string): string | undefined;
  /**
   * The same for each attempt, and another for each replay: `<source>.<id>.<generation>`, hashed
   * where that is longer than 200 bytes. `once` adds the name of its step.
   */
  readonly idempotencyKey: string;
}

/** Drizzle tables and relations by name, as `drizzle()` takes them for its `schema`. */
export type TableSchema = Record<string, unknown>;

/** A drizzle transaction on Postgres: its writes are committed together with the event's status
 * `completed`, or not at all. A nested `transaction()` is a savepoint; COMMIT and ROLLBACK are
 * refused. `Tables` is the `schema` of the config, for `tx.query`. */
export type HandlerTransaction<Tables extends TableSchema = TableSchema> = PgTransaction<
  NodePgQueryResultHKT,
  Tables,
  ExtractTablesWithRelations<Tables>
>;

/** The argument of `write`, and of a handler that is a function. */
export interface HandlerContext<Tables extends TableSchema = TableSchema, Emits = Emit> {
  readonly tx: HandlerTransaction<Tables>;
  /** Aborts when the handler's time is up, its claim is lost, or the worker closes. */
  readonly signal: AbortSignal;
  readonly emit: Emits;
  /** Writes lines with the event's source, id, generation, and attempt. */
  readonly log: HandlerLog;
}

/** The argument of `call`. No transaction is open while it runs. */
export interface CallContext {
  readonly once: Once;
  /** Aborts when the call's time is up, the queue's lock is lost, or the worker closes. */
  readonly signal: AbortSignal;
  readonly log: HandlerLog;
}

/**
 * Runs a step of an event, and keeps its result. Once recorded, the step is never run again in this
 * generation: a later attempt gets the result that was recorded. After a crash between the step and
 * its record it is run again, with the same key.
 *
 * @param name - the step's name; no two steps of an attempt have the same.
 * @param run - gets the key that is the same for each attempt, for the API that it calls, and what
 * it returns must be JSON of at most 64 kB.
 */
export type Once = <Result>(
  name: string,
  run: (key: string) => Promise<Result> | Result,
) => Promise<Result>;

/**
 * Emits an event of an internal source, in the handler's transaction: it is there exactly when the
 * handler's own event completes, however many attempts that takes. It runs after the commit, and
 * whether it fails is its own affair. An event that cannot be emitted is refused at once.
 *
 * @param source - the name of an `internal()` source.
 * @param data - the event's payload; what `JSON.stringify` makes of it is its body.
 * @throws `emit_refused`, `emit_too_deep`, `tx_closed`
 */
export type Emit = (
  source: string,
  type: string,
  data: JsonPayload,
  options?: EmitOptions,
) => Promise<void>;

export interface EmitOptions {
  /**
   * Distinguishes events of one source and type that a handler emits. Two with one key are refused.
   * Default: their count.
   */
  readonly key?: string | undefined;
  /**
   * Milliseconds after which the event runs, at the earliest: 0 to 31,536,000,000 (365 days).
   * Default: 0.
   */
  readonly afterMs?: number | undefined;
}

/** A logger, as pino makes them: an object to merge and a message, or a message. */
export interface HandlerLog {
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  error: LogLine;
}
export interface LogLine {
  (fields: object, message?: string): void;
  (message: string): void;
}

export type HandlerFunction<
  Payload = JsonPayload,
  Data = JsonPayload,
  Tables extends TableSchema = TableSchema,
  Emits = Emit,
> = (
  event: WebhookEvent<Payload, Data>,
  context: HandlerContext<Tables, Emits>,
) => Promise<void> | void;

export interface HandlerParts<
  Payload = JsonPayload,
  Called = unknown,
  Data = JsonPayload,
  Tables extends TableSchema = TableSchema,
  Emits = Emit,
> {
  /**
   * Checks the payload, and types it: a schema of zod, valibot, arktype, or another library of the
   * Standard Schema. An event that does not match fails at once (`payload_mismatch`).
   */
  schema?: StandardSchemaV1<unknown, Payload> | undefined;
  /**
   * Returns true to handle the event. An event that no handler handles is completed as `ignored`.
   */
  when?: ((event: WebhookEvent<Payload, Data>) => boolean) | undefined;
  /**
   * Calls other systems. It runs before the transaction begins, and no connection to Postgres waits
   * for it. Its result is handed to `write`.
   */
  call?:
    | ((event: WebhookEvent<Payload, Data>, context: CallContext) => Promise<Called> | Called)
    | undefined;
  /** Milliseconds that `call` may take. Default: `worker.handlerTimeoutMs`. */
  timeoutMs?: number | undefined;
  /** Writes to the database, in the transaction that completes the event. */
  write?:
    | ((
        event: WebhookEvent<Payload, Data>,
        context: HandlerContext<Tables, Emits>,
        called: Called,
      ) => Promise<void> | void)
    | undefined;
}

/** The argument of a set-based handler. It has no `emit`: an emitted event belongs to one event. */
export type SetHandlerContext<Tables extends TableSchema = TableSchema> = Omit<
  HandlerContext<Tables>,
  "emit"
>;

/** Handles several events at once, in one transaction; an error undoes all of them. */
export type SetHandlerFunction<
  Payload = JsonPayload,
  Data = JsonPayload,
  Tables extends TableSchema = TableSchema,
> = (
  events: readonly WebhookEvent<Payload, Data>[],
  context: SetHandlerContext<Tables>,
) => Promise<void> | void;

export interface HandlerOptions {
  /**
   * Makes the handler a set-based one: it gets the events of its types that wait at the same time,
   * at least one and at most so many (2 to 500), in no order. With `MILLRACE_GROUPS=off` it gets
   * one at a time.
   */
  batch: number;
}

/** A handler bound to sources and to event types, as `on` returns it. */
export interface Handler {
  /** The sources of its events; `*` is every source with a URL. */
  readonly sources: readonly string[];
  /** The event types that it handles; a `*` at the end of one stands for any text. */
  readonly types: readonly string[];
  readonly schema?: StandardSchemaV1 | undefined;
  readonly when?: HandlerParts["when"];
  readonly call?: HandlerParts["call"];
  /** Milliseconds that `call` may take. */
  readonly timeoutMs?: number | undefined;
  /** Handles one event in its transaction. */
  readonly write?: HandlerParts["write"];
  /** Of a set-based handler: handles several events, at most `max`. */
  readonly set?: { readonly max: number; readonly run: SetHandlerFunction };
}
