import type { NodePgQueryResultHKT } from "drizzle-orm/node-postgres";
import type { PgTransaction } from "drizzle-orm/pg-core";

/** What JSON.parse returns, so that `event.payload.amount` compiles; name your own type with
 * `on<Payload>()`. */
// oxlint-disable-next-line typescript/no-explicit-any
export type JsonPayload = any;

/** The event that a handler gets. */
export interface WebhookEvent<Payload = JsonPayload> {
  readonly source: string;
  /** The sender's id of the event. Use it as the idempotency key of calls to other systems. */
  readonly id: string;
  readonly type: string;
  readonly generation: number;
  /** Which run of the handlers this is, from 1. */
  readonly attempt: number;
  /** When the ingress received it. */
  readonly receivedAt: Date;
  readonly headers: Readonly<Record<string, string>>;
  /** True when the sender's signature does not cover the id. */
  readonly unsigned: boolean;
  /** The body parsed as JSON on first use; of a form, the JSON in its field `payload`, as GitHub
   * and Slack send it. Throws a PermanentError when there is none. */
  readonly payload: Payload;
  /** The exact bytes that were signed. */
  readonly body: Uint8Array;
}

/** A drizzle transaction on Postgres: its writes are committed together with the event's status
 * `completed`, or not at all. A nested `transaction()` is a savepoint; COMMIT and ROLLBACK are
 * refused. */
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

/** Handles several events at once, in one transaction; what it throws undoes all of them. */
export type SetHandlerFunction<Payload = JsonPayload> = (
  events: readonly WebhookEvent<Payload>[],
  context: HandlerContext,
) => Promise<void> | void;

export interface HandlerOptions {
  /**
   * Makes the handler a set-based one: it gets the events of its types that wait at the same time, at least
   * one and at most so many (2 to 500), in no order. With `MILLRACE_GROUPS=off` it gets one at a time.
   */
  batch: number;
}

/** A handler bound to a source and to event types, as `on` returns it. */
export interface Handler {
  readonly source: string;
  /** The event types that it handles; `*` is every type. */
  readonly types: readonly string[];
  /** Handles one event. */
  readonly run: HandlerFunction;
  /** Of a set-based handler: handles several events, at most `max`. */
  readonly set?: { readonly max: number; readonly run: SetHandlerFunction };
}

/**
 * Binds a handler to events of a source: one type, a list of types, or `*` for all. When several
 * handlers match an event, they run in order, in one transaction.
 */
export function on<Payload = JsonPayload>(
  source: string,
  type: string | readonly string[],
  run: HandlerFunction<Payload>,
): Handler;
/**
 * Binds a set-based handler: it gets the events that wait at the same time, up to `batch` of them, in one
 * transaction, so that it can write them with one statement. If it throws, the set is undone and tried in
 * halves, until the event that it throws for is alone and fails alone: the other events may be handed to it
 * up to ten times, which uses up none of their attempts. An event has either one set-based handler or
 * ordinary ones.
 */
export function on<Payload = JsonPayload>(
  source: string,
  type: string | readonly string[],
  options: HandlerOptions,
  run: SetHandlerFunction<Payload>,
): Handler;
export function on(
  source: string,
  type: string | readonly string[],
  ...given: [HandlerFunction] | [HandlerOptions, SetHandlerFunction]
): Handler {
  const bound = { source, types: typeof type === "string" ? [type] : [...type] };
  const [optionsOrRun, runSet] = given;
  if (typeof optionsOrRun === "function") return { ...bound, run: optionsOrRun };
  if (typeof runSet !== "function") {
    throw new TypeError(`Cannot bind a handler to ${source}: it is not a function`);
  }
  const { batch: max } = optionsOrRun;
  if (!Number.isInteger(max) || max < SET_MIN || max > SET_MAX) {
    throw new RangeError(
      `Cannot bind a handler to ${source}: batch is ${max}, and must be ${SET_MIN} to ${SET_MAX}`,
    );
  }
  return {
    ...bound,
    run: (event, context) => runSet([event], context),
    set: { max, run: runSet },
  };
}

const SET_MIN = 2;
const SET_MAX = 500;

const PERMANENT = Symbol.for("millrace.permanent-error");
const RETRY_LATER = Symbol.for("millrace.retry-later");

/** Throw it from a handler when no retry will help: the event fails at once. */
export class PermanentError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "PermanentError";
    Object.defineProperty(this, PERMANENT, { value: true });
  }
}

/**
 * Throw it from a handler to be run again after `afterMs` milliseconds instead of the source's
 * backoff. It is an attempt like any other, so it ends too.
 */
export class RetryLater extends Error {
  readonly afterMs: number;

  constructor(options: { afterMs: number; reason?: string; cause?: unknown }) {
    super(options.reason ?? `Retry in ${options.afterMs} ms`, { cause: options.cause });
    this.name = "RetryLater";
    this.afterMs = Math.max(0, options.afterMs);
    Object.defineProperty(this, RETRY_LATER, { value: true });
  }
}

// By brand, not by class: a user's bundle may hold another copy of this module.

export function isPermanentError(error: unknown): error is PermanentError {
  return typeof error === "object" && error !== null && PERMANENT in error;
}

export function isRetryLater(error: unknown): error is RetryLater {
  return typeof error === "object" && error !== null && RETRY_LATER in error;
}
