import type { NodePgQueryResultHKT } from "drizzle-orm/node-postgres";
import type { PgTransaction } from "drizzle-orm/pg-core";

/** What JSON.parse gives; name your own type with `on<Payload>()`. */
export type JsonPayload = ReturnType<typeof JSON.parse>;

/** The event that a handler is given. */
export interface WebhookEvent<Payload = JsonPayload> {
  readonly source: string;
  /** The sender's id of the event. Use it as the idempotency key of calls to other systems. */
  readonly id: string;
  readonly type: string;
  readonly generation: number;
  /** Which run of the handlers this is, from 1. */
  readonly attempt: number;
  /** When the ingress took it in. */
  readonly receivedAt: Date;
  readonly headers: Readonly<Record<string, string>>;
  /** True when the sender's signature does not cover the id. */
  readonly unsigned: boolean;
  /** The body parsed as JSON on first use. Throws a PermanentError when it is not JSON. */
  readonly payload: Payload;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array;
}

/** A drizzle transaction on Postgres: what is written through it is there exactly when the event
 * is `completed`. A nested `transaction()` is a savepoint; COMMIT and ROLLBACK are refused. */
export type HandlerTransaction = PgTransaction<NodePgQueryResultHKT, Record<string, unknown>>;

export interface HandlerContext {
  readonly tx: HandlerTransaction;
  /** Aborts when the handler's time is up, its claim is lost, or the worker closes. */
  readonly signal: AbortSignal;
}

export type HandlerFunction<Payload = JsonPayload> = (
  event: WebhookEvent<Payload>,
  context: HandlerContext,
) => Promise<void> | void;

/** A handler bound to a source and its types, as `on` makes it. */
export interface Handler {
  readonly source: string;
  /** Types that it hears; `*` is every type. */
  readonly types: readonly string[];
  readonly run: HandlerFunction;
}

/**
 * Binds a handler to events of a source: one type, a list of them, or `*` for all. When several
 * handlers hear an event they run in order, in one transaction.
 */
export function on<Payload = JsonPayload>(
  source: string,
  type: string | readonly string[],
  run: HandlerFunction<Payload>,
): Handler {
  return { source, types: typeof type === "string" ? [type] : [...type], run };
}
