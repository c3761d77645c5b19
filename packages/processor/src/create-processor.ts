import { setMaxListeners } from "node:events";
import { MillraceError, type Handler, type QueuedEvent, type Settlement } from "@millrace/core";
import { createAttemptSignal } from "./attempt-signal.ts";
import { checkJob, unknownSource, type JobRefusal } from "./check-job.ts";
import { claimEvent, notBegun } from "./claim-event.ts";
import { createTask, type AttemptPolicy, type Context, type Task } from "./context.ts";
import { createDatabasePatience } from "./database-patience.ts";
import { describeError } from "./describe-error.ts";
import { createDispatcher } from "./dispatcher.ts";
import type { Notice } from "./notices.ts";
import type { ClaimPort } from "./ports.ts";
import { createRecorder } from "./record-together.ts";
import { settleEvent, type Settled } from "./settle-event.ts";
import { createSlots } from "./slots.ts";

export interface ProcessorDeps {
  readonly ledger: ClaimPort;
  readonly handlers: readonly Handler[];
  /** The policy of every configured source, by its name. */
  readonly sources: Readonly<Record<string, AttemptPolicy>>;
  /** Tells errors that are the database's fault: they use up no attempts. */
  readonly isDatabaseTrouble: (error: unknown) => boolean;
  /** Hears what happens. What it throws is dropped. */
  readonly notify?: (notice: Notice) => void;
  /** A number from 0 to 1; Math.random by default. */
  readonly random?: () => number;
}

export interface ProcessorOptions {
  /** Transactions of handlers at once, over all sources. Jobs beyond it wait. */
  readonly concurrency: number;
  /** Milliseconds a handler may run. */
  readonly handlerTimeoutMs: number;
  /** Milliseconds that a step is tried again while Postgres is away, before the job is handed back
   * to the queue. Default 60,000. */
  readonly patienceMs?: number;
  /** Jobs that are recorded in one commit at most. Default 50. */
  readonly batchMax?: number;
}

export interface Processor {
  /**
   * Claims, handles and settles events: one promise a job, in order. None of them rejects, and
   * none waits for the handlers of another job.
   */
  process(jobs: readonly QueuedEvent[]): Promise<Settlement>[];
  /** Handlers that run now. */
  readonly running: number;
  /** Hands jobs that wait for a slot back to the queue, now and from now on; what runs goes on. */
  drain(): void;
  /** Breaks off what runs, undone and handed back to the queue, and waits until it is settled. */
  close(): Promise<void>;
}

/** The way of a job through the house: check, record together, then each event by itself. */
export function createProcessor(deps: ProcessorDeps, options: ProcessorOptions): Processor {
  const context = createContext(deps, options);
  const recorder = createRecorder(deps, { batchMax: options.batchMax ?? 50 });
  const slots = createSlots(options.concurrency);
  const policies = new Map(Object.entries(deps.sources));
  const draining = new AbortController();
  const closing = new AbortController();
  // Every job under way follows them.
  setMaxListeners(0, draining.signal, closing.signal);
  const underWay = new Set<Promise<Settlement>>();

  async function processJob(job: QueuedEvent): Promise<Settlement> {
    const policy = policies.get(job.event.source);
    if (policy === undefined) return told(job, refused(unknownSource(job)));
    const refusal = checkJob(job);
    if (refusal !== undefined) return told(job, refused(refusal));
    const life = createAttemptSignal([job.signal, closing.signal]);
    try {
      return told(job, await processTask(createTask(job, policy, life.signal)));
    } catch (error) {
      return told(job, { settlement: unexpected(error, context) });
    } finally {
      life.dispose();
    }
  }

  // The slot comes first: an attempt is counted when it is recorded, and it must not then wait.
  async function processTask(task: Task): Promise<Settled> {
    const waiting = createAttemptSignal([task.stop, draining.signal]);
    const release = await slots.acquire(task.key.source, waiting.signal);
    waiting.dispose();
    if (release === undefined) return { settlement: notBegun(waiting.signal, context) };
    try {
      const claimed = await claimEvent(task, recorder, context);
      return "claim" in claimed ? await settleEvent(task, claimed.claim, context) : claimed;
    } finally {
      release();
    }
  }

  function told(job: QueuedEvent, settled: Settled): Settlement {
    context.notify(settledNotice(job, settled));
    return settled.settlement;
  }

  return {
    process: (jobs) =>
      jobs.map((job) => {
        const settlement = processJob(job);
        underWay.add(settlement);
        void settlement.finally(() => underWay.delete(settlement));
        return settlement;
      }),
    get running() {
      return slots.taken;
    },
    drain: () => draining.abort(shuttingDown()),
    async close() {
      closing.abort(shuttingDown());
      await Promise.allSettled(underWay);
    },
  };
}

function shuttingDown(): MillraceError {
  return new MillraceError("shutting_down", "Cannot go on with job: the worker is closing");
}

function createContext(deps: ProcessorDeps, options: ProcessorOptions): Context {
  const random = deps.random ?? Math.random;
  const patienceMs = options.patienceMs ?? 60_000;
  return {
    ledger: deps.ledger,
    dispatch: createDispatcher(deps.handlers),
    patience: createDatabasePatience(
      { isDatabaseTrouble: deps.isDatabaseTrouble, random },
      { patienceMs },
    ),
    handlerTimeoutMs: options.handlerTimeoutMs,
    isDatabaseTrouble: deps.isDatabaseTrouble,
    notify: (notice) => {
      try {
        deps.notify?.(notice);
      } catch {
        // A listener that fails is no reason to run a handler again.
      }
    },
    random,
  };
}

function refused(refusal: JobRefusal): Settled {
  return { settlement: { kind: "failed", ...refusal } };
}

/** A fault of our own; the job comes again, and someone reads the code. */
function unexpected(error: unknown, { patience }: Context): Settlement {
  const message = describeError(error);
  return {
    kind: "retry",
    afterMs: patience.delayMs(0),
    code: "internal",
    message,
    recorded: false,
  };
}

function settledNotice({ event, enqueuedAtMs }: QueuedEvent, settled: Settled): Notice {
  const { settlement, handlerMs } = settled;
  const { source, eventId, generation } = event;
  const now = Date.now();
  return {
    kind: "settled",
    key: { source, eventId, generation },
    settlement: settlement.kind,
    outcome: settlement.kind === "completed" ? settlement.outcome : undefined,
    code: "code" in settlement ? settlement.code : undefined,
    handlerMs,
    sinceReceivedMs: now - event.acceptedAtMs,
    queueAgeMs: now - enqueuedAtMs,
  };
}
