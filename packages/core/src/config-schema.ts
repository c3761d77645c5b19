import { z } from "zod";
import { sourceSchema } from "./source-schema.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { EventKey } from "./event.ts";
import type { Handler } from "./handler.ts";

export const SOURCE_NAME = /^[a-z][a-z0-9-]{0,39}$/;

const ms = (options: { min: number; max: number }) => z.int().min(options.min).max(options.max);

/** The ingress: how much it takes in, and how long it takes over an answer. */
export const ingressSchema = z.strictObject({
  /** Milliseconds within which a body must have arrived; later it is answered 408. */
  bodyTimeoutMs: ms({ min: 100, max: 120_000 }).default(10_000),
  /** Milliseconds an answer may take once the body is there; then 503, and the sender sends again. Four
   * fifths of them are for the durable place, or half of that for each of two. */
  answerTimeoutMs: ms({ min: 100, max: 30_000 }).default(2_000),
  /** Bytes of bodies held at once; more is answered 503. Bounds the memory of the process. */
  inFlightBytesMax: z
    .int()
    .min(65_536)
    .default(64 * 1024 * 1024),
  /** Connections held at once; further ones are closed. */
  connectionsMax: z.int().min(1).default(10_000),
  /** Events that share one round trip to a durable place. Larger batches gain little and delay more. */
  batchMax: z.int().min(1).max(1_000).default(25),
  /** Milliseconds a stopping ingress goes on answering what it has read. */
  shutdownTimeoutMs: ms({ min: 0, max: 600_000 }).default(10_000),
});

/** The worker: how many handlers run at once, and the times that decide who holds an event. */
export const workerSchema = z
  .strictObject({
    /** Handlers that run at once in a process. Each holds a connection to Postgres. */
    concurrency: z.int().min(1).max(500).default(20),
    /** Milliseconds a handler may run; then its transaction is undone and the attempt has failed. */
    handlerTimeoutMs: ms({ min: 10, max: 3_600_000 }).default(30_000),
    /** Milliseconds Postgres lets a handler's transaction sit idle. Must outlast the handler. */
    idleInTransactionTimeoutMs: ms({ min: 10, max: 3_660_000 }).default(35_000),
    /** Milliseconds a statement waits for a row that another transaction holds. */
    lockTimeoutMs: ms({ min: 10, max: 60_000 }).default(2_000),
    /** Milliseconds BullMQ's lock on a job lasts without renewal. Shorter finds dead workers sooner. */
    lockDurationMs: ms({ min: 1_000, max: 600_000 }).default(12_000),
    /** Milliseconds between looks for jobs whose worker died. */
    stalledIntervalMs: ms({ min: 500, max: 600_000 }).default(5_000),
    /** Times a job may lose its worker before BullMQ gives it up. */
    maxStalledCount: z.int().min(1).max(1_000).default(20),
    /** Milliseconds a stopping worker waits for its handlers; then they are undone and run again. */
    shutdownTimeoutMs: ms({ min: 0, max: 600_000 }).default(25_000),
  })
  .superRefine((worker, context) => {
    for (const [path, message] of contradictions(worker)) {
      context.addIssue({ code: "custom", path: [path], message });
    }
  });

/** How long what is settled is kept. Events that are pending or failed are kept until they are not. */
const retentionSchema = z
  .strictObject({
    /** Days that the body of a completed event is kept; then it can be neither shown nor replayed. */
    bodiesDays: z.int().min(1).max(36_500).default(30),
    /** Days that a completed event is known. A delivery of it that comes later than that is a new
     * event, and a job of it that is older than that is failed (`identity_expired`). */
    keysDays: z.int().min(1).max(36_500).default(90),
    /** A folder that a day's bodies are written to, as compressed JSON lines, before they are dropped.
     * Relative to the config file. Default: they are dropped. */
    archive: z.string().min(1).optional(),
  })
  .refine(({ bodiesDays, keysDays }) => keysDays >= bodiesDays, {
    path: ["keysDays"],
    message: "must be at least bodiesDays, or bodies would outlive what they belong to",
  });

/** The reconciler: how often ledger and queue are compared. */
const reconcilerSchema = z.strictObject({
  /** Milliseconds between passes. */
  intervalMs: ms({ min: 100, max: 3_600_000 }).default(5_000),
  /** Milliseconds that an event may be pending without a known job before it is looked into. Less
   * looks into events that are just being enqueued. */
  graceMs: ms({ min: 0, max: 3_600_000 }).default(5_000),
  /** Milliseconds between looks at everything that has been pending for as long, whether a job of it is
   * known or not: a person may have removed one. */
  sweepIntervalMs: ms({ min: 100, max: 86_400_000 }).default(600_000),
});

const onFailedSchema = z.custom<OnFailed>(
  (value) => typeof value === "function",
  "must be a function (event) => ...",
);

const NO_SOURCES =
  "is missing; the file must say: export default defineConfig({ sources: { stripe: stripe() } })";

const handlersSchema = z.custom<HandlersOption>(
  (value) => typeof value === "function" || Array.isArray(value),
  "must be a list of on(...), or a function that imports one",
);

/** The whole of `millrace.config.ts`. */
export const configSchema = z.strictObject({
  /** The senders, by the name that stands in their URL: `/webhooks/<name>`. */
  sources: z
    .record(z.string().regex(SOURCE_NAME, `must match ${SOURCE_NAME.source}`), sourceSchema, {
      error: ({ code, input }) =>
        code === "invalid_type" && input === undefined ? NO_SOURCES : undefined,
    })
    .refine((sources) => Object.keys(sources).length > 0, "must name at least one source"),
  /** What is done with events. A function keeps them out of the ingress, which never calls it. */
  handlers: handlersSchema.default(() => []),
  /** A folder of numbered SQL files for your own tables, run by `millrace migrate` after ours.
   * Relative to the config file. */
  migrations: z.string().min(1).optional(),
  /** Called by the worker after an event has failed for good, to tell someone. Best effort: it is not
   * called again when it throws or the worker dies. */
  onFailed: onFailedSchema.optional(),
  retention: retentionSchema.prefault({}),
  reconciler: reconcilerSchema.prefault({}),
  ingress: ingressSchema.prefault({}),
  worker: workerSchema.prefault({}),
});

interface Times {
  readonly handlerTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
}

/** Times that cannot hold together. */
function contradictions(worker: Times): [keyof Times, string][] {
  const found: [keyof Times, string][] = [];
  if (worker.idleInTransactionTimeoutMs <= worker.handlerTimeoutMs) {
    found.push([
      "idleInTransactionTimeoutMs",
      `must be more than handlerTimeoutMs (${worker.handlerTimeoutMs}), or Postgres ends a handler that still has time`,
    ]);
  }
  if (worker.lockTimeoutMs >= worker.handlerTimeoutMs) {
    found.push([
      "lockTimeoutMs",
      `must be less than handlerTimeoutMs (${worker.handlerTimeoutMs}), or a wait for a lock outlives the handler`,
    ]);
  }
  if (worker.stalledIntervalMs >= worker.lockDurationMs) {
    found.push([
      "stalledIntervalMs",
      `must be less than lockDurationMs (${worker.lockDurationMs}), or dead workers are found late`,
    ]);
  }
  return found;
}

/** An event that failed for good, as `onFailed` is told. */
export interface FailedEvent extends EventKey {
  readonly type: string;
  readonly attempts: number;
  readonly code: ErrorCode;
  /** What the ledger keeps as the last error. */
  readonly message: string;
}
export type OnFailed = (event: FailedEvent) => Promise<void> | void;
export type RetentionConfig = z.infer<typeof retentionSchema>;
export type ReconcilerConfig = z.infer<typeof reconcilerSchema>;
export type IngressConfig = z.infer<typeof ingressSchema>;
export type WorkerConfig = z.infer<typeof workerSchema>;
export type HandlersOption = readonly Handler[] | (() => Promise<HandlersModule> | HandlersModule);
export type HandlersModule = readonly Handler[] | { readonly default: readonly Handler[] };
/** What a user writes. */
export type ConfigInput = z.input<typeof configSchema>;
/** What the processes read: every default filled in. */
export type Config = z.infer<typeof configSchema>;
