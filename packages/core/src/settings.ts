import type { AlertChannel } from "./alerts.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { EventKey } from "./event.ts";
import type { Handler, TableSchema } from "./handler.ts";
import type { SourceDefinition } from "./source-settings.ts";

// The settings of a user, with the sentences that an editor shows; source-settings.ts has those of
// a source. The schemas next to them check and hold the limits and defaults; a type test keeps both
// equal.

/** `millrace.config.ts`: the argument of `defineConfig`. */
export interface ConfigInput<
  Sources extends Record<string, SourceDefinition> = Record<string, SourceDefinition>,
  Tables extends TableSchema = TableSchema,
> {
  /**
   * Senders by name. A name matches `^[a-z][a-z0-9-]{0,39}$`, and its URL is `/webhooks/<name>`.
   */
  sources: Sources;
  /**
   * The address of `/webhooks` as senders reach it, such as `https://hooks.example.com`, for those
   * that sign the URL that they call. Default: each has its own `url`.
   */
  publicUrl?: string | undefined;
  /**
   * The handlers: a list of `on(...)`, or a function that imports one, such as
   * `() => import("./handlers.ts")`. The ingress never calls the function. Default: none.
   */
  handlers?: HandlersOption | undefined;
  /**
   * Your Drizzle tables and relations, as `drizzle()` takes them: `import * as schema from
   * "./schema.ts"`. It gives handlers `tx.query`, and with `defineHandlers` its types. Default:
   * none.
   */
  schema?: Tables | undefined;
  /**
   * Folder with numbered SQL files for your own tables, relative to the config file. `millrace
   * migrate` applies them after Millrace's own. Default: none.
   */
  migrations?: string | undefined;
  /**
   * Called by the worker after an event failed for good. Best effort: it is not called again if it
   * throws or the worker dies.
   */
  onFailed?: OnFailed | undefined;
  /**
   * Where people are notified, once an hour and incident, of new errors, of sources that fail, are
   * refused, or are silent, and of bulk runs that ended: `[alertTo.slack()]`. Default: nowhere.
   */
  alerts?: readonly AlertChannel[] | undefined;
  /** The times for which bodies and completed events are kept. */
  retention?: RetentionOptions | undefined;
  /** The times of the reconciler, which compares the ledger with the queue. */
  reconciler?: ReconcilerOptions | undefined;
  /** The time that completed jobs stay, and the replicas of Redis that must have an event. */
  queue?: QueueOptions | undefined;
  /** The data that is kept of the errors of handlers. */
  errors?: ErrorsOptions | undefined;
  /** Limits and timeouts of the ingress. */
  ingress?: IngressOptions | undefined;
  /** Concurrency and timeouts of the worker. */
  worker?: WorkerOptions | undefined;
}

interface IngressOptions {
  /**
   * Milliseconds within which a request body must arrive, else 408. It must bring 20 kB in each
   * five seconds but the first, too. 100 to 120,000. Default: 30,000.
   */
  bodyTimeoutMs?: number | undefined;
  /**
   * Milliseconds that an answer may take after the body arrived, else 503, and the sender retries.
   * Four fifths of it are for one event store, or half of that for each of two. 100 to 30,000.
   * Default: 2,000.
   */
  answerTimeoutMs?: number | undefined;
  /**
   * Bytes of request bodies held at once, by all adapters of a receiver together; further requests
   * get 503. One of several sources holds half of it at most, and bodies above 64 kB leave an
   * eighth to smaller ones. It counts the buffers of bodies only: the process uses more memory than
   * that. At least 65,536. Default: 64 MiB.
   */
  inFlightBytesMax?: number | undefined;
  /**
   * Connections held at once. For each further one, the oldest on which no answer is being made is
   * closed; while more than half of them are open, idle ones are closed. Default: 10,000.
   */
  connectionsMax?: number | undefined;
  /**
   * Events that share one round trip to an event store, up to 1,000. What waits goes at once,
   * however little it is; larger batches gain little and hold up Redis for longer. Default: 100.
   */
  batchMax?: number | undefined;
  /** Milliseconds that a stopping ingress keeps answering requests it has read. Default: 10,000. */
  shutdownTimeoutMs?: number | undefined;
}

interface ErrorsOptions {
  /**
   * Keeps the stack of a failed attempt: files, lines and functions, never the message.
   * Default: true.
   */
  stack?: boolean | undefined;
}

interface WorkerOptions {
  /**
   * Handlers that run at once in a process, up to 500. Each holds a Postgres connection. Default:
   * 20.
   */
  concurrency?: number | undefined;
  /**
   * Events of this process whose handlers make calls (`call`) at once, up to 10,000. They hold no
   * connection to Postgres, and none of the slots of `concurrency`. Default: 200.
   */
  callsMax?: number | undefined;
  /**
   * Milliseconds that a handler may run; then its transaction is rolled back and the attempt fails.
   * 10 to 3,600,000. Default: 30,000.
   */
  handlerTimeoutMs?: number | undefined;
  /**
   * Milliseconds that Postgres lets a handler's transaction sit idle. Must be more than
   * `handlerTimeoutMs`. Default: 35,000.
   */
  idleInTransactionTimeoutMs?: number | undefined;
  /**
   * Milliseconds that a statement waits for a row that another transaction has locked. Must be less
   * than `handlerTimeoutMs`. Default: 2,000.
   */
  lockTimeoutMs?: number | undefined;
  /**
   * Milliseconds that BullMQ's lock on a job lasts without renewal. A shorter lock finds dead
   * workers sooner. 1,000 to 600,000. Default: 12,000.
   */
  lockDurationMs?: number | undefined;
  /**
   * Milliseconds between checks for jobs whose worker died. Must be less than `lockDurationMs`.
   * Default: 5,000.
   */
  stalledIntervalMs?: number | undefined;
  /** Times that a job may lose its worker before BullMQ abandons it. Default: 20. */
  maxStalledCount?: number | undefined;
  /**
   * Milliseconds that a stopping worker waits for running handlers; then they are rolled back and
   * run again elsewhere. Default: 25,000.
   */
  shutdownTimeoutMs?: number | undefined;
}

interface QueueOptions {
  /**
   * Milliseconds that a completed job stays in the queue, and on Redis its body with it, 0 to
   * 86,400,000. While it stays, the queue recognizes a redelivery, and its event can run again when
   * Postgres was restored to an earlier time, or a standby that lagged was promoted. 0 removes a
   * job in the call that completes it. Default: 600,000.
   */
  keepCompletedMs?: number | undefined;
  /**
   * Replicas of Redis that must have an event before its sender gets an answer, 0 or 1. With 1, an
   * event that the queue takes outlives a failover. What the replica does not have in time, a
   * quarter of what the queue has for a delivery, goes to the ledger too. On Postgres it has no
   * effect. Default: 0.
   */
  replicas?: number | undefined;
  /**
   * Bytes of Redis that the completed jobs of all sources may take, about, 1,048,576 to
   * 1,099,511,627,776. Each source has an equal share, and may always keep 10,000 jobs. When they
   * do not fit, the oldest are removed before their time. Default: 268,435,456.
   */
  keepCompletedBytes?: number | undefined;
}

/** Times for which completed events' data is kept. Pending and failed ones are always kept. */
interface RetentionOptions {
  /**
   * Days that the body of a completed event is kept; after that it cannot be shown or replayed.
   * Default: 30.
   */
  bodiesDays?: number | undefined;
  /**
   * Days that a completed event is recognized as a duplicate. A later delivery is a new event, and
   * an older job is failed (`identity_expired`). Must be at least `bodiesDays`. Default: 90.
   */
  keysDays?: number | undefined;
}

interface ReconcilerOptions {
  /** Milliseconds between passes. Default: 5,000. */
  intervalMs?: number | undefined;
  /**
   * Milliseconds that an event may be pending without a known job before the reconciler checks it.
   * A smaller value checks events that are still being enqueued. Default: 5,000.
   */
  graceMs?: number | undefined;
  /**
   * Milliseconds between full sweeps, which check every pending event, even those with a known job:
   * a person may have removed it. Default: 600,000.
   */
  sweepIntervalMs?: number | undefined;
}

/** An event that failed for good, as `onFailed` receives it. */
export interface FailedEvent extends EventKey {
  readonly type: string;
  readonly attempts: number;
  readonly code: ErrorCode;
  /** The last error, as the ledger keeps it. */
  readonly message: string;
}

export type OnFailed = (event: FailedEvent) => Promise<void> | void;
export type HandlersOption = readonly Handler[] | (() => Promise<HandlersModule> | HandlersModule);
/** `default` is a list of `on(...)`, whose type may depend on the config's (`defineHandlers`). */
export type HandlersModule = readonly Handler[] | { readonly default: unknown };
