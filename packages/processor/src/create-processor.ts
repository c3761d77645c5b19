import {
  createBatcher,
  LazySignal,
  MillraceError,
  settlesWithin,
  type EventJob,
  type EventKey,
  type Handler,
  type JobResult,
  type OnEmitted,
  type OnFailed,
  type Tracing,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { abandonJob, createFailureHook, reportAbandoned } from "./job/abandon-job.ts";
import { createDatabaseRetry } from "./job/database-retry.ts";
import { internalSources, type EmitSource } from "./handler/emit.ts";
import { FirstAttempts } from "./groups/first-attempts.ts";
import { openSilently, type OpenLog } from "./handler/handler-log.ts";
import type { Notice } from "./notices.ts";
import { EventRun, type ProcessContext } from "./job/process-event.ts";
import type { AttemptPolicy } from "./job/retry-policy.ts";
import { Handlers } from "./handler/run-handlers.ts";
import { createSlots } from "./job/slots.ts";

export interface ProcessorDeps {
  readonly ledger: Ledger["claims"];
  readonly handlers: readonly Handler[];
  /** Every configured source with its policy, by name. Its provider says what `event.data` is. */
  readonly sources: Readonly<Record<string, EmitSource & { readonly options: AttemptPolicy }>>;
  /** Gets the emitted events after the COMMIT. Default: the reconciler finds them. */
  readonly onEmitted?: OnEmitted | undefined;
  readonly onFailed?: OnFailed | undefined;
  readonly onHookError?: (error: unknown) => void;
  readonly notify?: (notice: Notice) => void;
  readonly openLog?: OpenLog | undefined;
  readonly random?: () => number;
  readonly tracing?: Tracing | undefined;
}

export interface ProcessorOptions {
  /** Handler transactions at once, over all sources. Jobs beyond that wait. */
  readonly concurrency: number;
  readonly callsMax?: number;
  readonly handlerTimeoutMs: number;
  readonly keepsStacks?: boolean;
  readonly projectDir?: string | undefined;
  /** Secrets that errors and log lines leave out, with those that look like secrets. */
  readonly secrets?: readonly string[] | undefined;
  /** Milliseconds of a step's retries while Postgres is unavailable. Default: 60,000. */
  readonly databaseRetryMs?: number;
  /** True for a source whose first attempts share a transaction. Default: none is. */
  readonly mayShare?: ((source: string) => boolean) | undefined;
  readonly signsJobs?: boolean;
}

export type Processor = ReturnType<typeof createProcessor>;

/** Each event of a group has a savepoint; past 64 of them Postgres is slower for everyone. */
const GROUP_SIZE_MAX = 50;

/** Milliseconds for running events to be undone and recorded; Postgres may be unavailable. */
const UNDO_MS = 3_000;

export function createProcessor(deps: ProcessorDeps, options: ProcessorOptions) {
  const { ledger, onFailed, onHookError = () => {}, random = Math.random, tracing } = deps;
  const slots = createSlots(options.concurrency);
  const callSlots = createSlots(options.callsMax ?? 200);
  const hook = onFailed && createFailureHook(onFailed, onHookError);
  const internal = internalSources(deps.sources);
  const draining = new LazySignal();
  const closing = new LazySignal();
  const parts: Omit<ProcessContext, "firstAttempts"> = {
    ledger,
    record: recordBatched(ledger),
    database: createDatabaseRetry({ maxMs: options.databaseRetryMs ?? 60_000, random }),
    policies: new Map(Object.entries(deps.sources).map(([name, source]) => [name, source.options])),
    slots,
    callSlots,
    handlers: new Handlers(deps.handlers, deps.sources),
    handlerTimeoutMs: options.handlerTimeoutMs,
    kept: {
      stack: options.keepsStacks ?? true,
      projectDir: options.projectDir ?? process.cwd(),
      secrets: options.secrets ?? [],
    },
    internalSources: internal,
    onEmitted: withoutThrowing(deps.onEmitted),
    signsJobs: options.signsJobs ?? false,
    hook,
    notify: withoutThrowing(deps.notify),
    openLog: deps.openLog ?? openSilently,
    random,
    draining,
    closing,
  };
  const { mayShare } = options;
  const firstAttempts =
    mayShare &&
    new FirstAttempts(parts, {
      sizeMax: (source) => (mayShare(source) ? GROUP_SIZE_MAX : 1),
      concurrency: options.concurrency,
    });
  const context: ProcessContext = { ...parts, firstAttempts };
  const inProgress = new Set<Promise<JobResult>>();
  const run = (job: EventJob) => new EventRun(job, context).process();

  return {
    /** Claims, handles and settles the event of a job. Never rejects. */
    process(job: EventJob): Promise<JobResult> {
      const result = tracing === undefined ? run(job) : tracing.process(job, run);
      inProgress.add(result);
      void result.finally(() => inProgress.delete(result));
      return result;
    },
    /** @throws `database_unavailable` */
    abandon: (job: EventJob, reason: string) => abandonJob(job, reason, { ledger, hook }),
    /** Calls `onFailed` for an event that someone else has failed without an attempt. */
    reportAbandoned(key: EventKey, type: string, reason: string): void {
      reportAbandoned(key, type, reason, { ledger, hook }).catch(onHookError);
    },
    /** Jobs of a source at once: more than `concurrency` while they share transactions. */
    jobsMax: (source: string) =>
      Math.max(options.concurrency, firstAttempts?.eventsMax(source) ?? 0),
    /** Events of a source whose handlers make calls now. Their jobs come on top of `jobsMax`. */
    calling: (source: string) => callSlots.takenBy(source),
    get running() {
      return slots.taken + callSlots.taken;
    },
    /** Hands jobs that wait for a slot back to the queue, from now on. Running attempts go on. */
    drain: () => draining.abort(shuttingDown()),
    /** Rolls back the running attempts, which use up no attempt. Bounded. */
    async close(): Promise<void> {
      closing.abort(shuttingDown());
      await settlesWithin(Promise.all(inProgress), UNDO_MS);
      await hook?.close();
    },
  };
}

/** Jobs that arrive together share one commit. The ledger sorts out repeats and refused jobs. */
function recordBatched(ledger: Ledger["claims"]): ProcessContext["record"] {
  const batcher = createBatcher((jobs: readonly EventJob[]) => ledger.record(jobs), {
    sizeMax: 50,
    inFlightMax: 2,
    // Twice the events in a statement cost much less than two statements.
    sparing: true,
  });
  return async (job) => {
    const claim = await batcher.add(job);
    if (claim.kind === "unrecorded") throw claim.error;
    return claim;
  };
}

function withoutThrowing<Item>(listener: ((item: Item) => void) | undefined) {
  return (item: Item): void => {
    try {
      listener?.(item);
    } catch {}
  };
}

function shuttingDown(): MillraceError {
  return new MillraceError("shutting_down", "Cannot continue job: the worker is closing");
}
