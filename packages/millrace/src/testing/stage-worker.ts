import {
  MillraceError,
  type Config,
  type EnvelopedEvent,
  type EventKey,
  type FailedEvent,
  type Handler,
  type JobResult,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { createProcessor, type Notice, type Processor } from "@millrace/processor";
import { CONCURRENCY } from "./open-ledger.ts";
import type { StagedEvent } from "./delivered.ts";
import { keyName } from "./key-name.ts";
import { eventNotFound, readStaged } from "./read-staged.ts";

export interface StageWorker {
  /** Runs an event of the ledger, up to so many attempts, and says how it stands then. */
  run(key: EventKey, attempts: number): Promise<StagedEvent>;
  /** How an event stands. @throws `event_not_found` */
  show(key: EventKey): Promise<StagedEvent>;
  close(): Promise<void>;
}

/** Makes the worker's way of an event: claim, handle, settle. What hands it the job is the test. */
export function createStageWorker(
  config: Config,
  ledger: Ledger,
  handlers: readonly Handler[],
): StageWorker {
  const thrown = new Map<string, unknown>();
  const told: Promise<void>[] = [];
  const processor = createProcessor(
    {
      ledger: ledger.claims,
      handlers: handlers.map((handler) => noting(handler, thrown)),
      sources: config.sources,
      notify: (notice) => {
        if (notice.kind !== "attempt_failed" || !notice.final) return;
        const telling = tell(config, notice);
        // Heard by who awaits it, later.
        telling.catch(() => {});
        told.push(telling);
      },
    },
    { concurrency: CONCURRENCY, handlerTimeoutMs: config.worker.handlerTimeoutMs },
  );
  let runs = 0;

  async function run(key: EventKey, attempts: number): Promise<StagedEvent> {
    const event = await jobOf(ledger, key);
    const name = `stage-${(runs += 1)}`;
    let result: JobResult | undefined;
    for (let made = 0; made < attempts; made += 1) {
      result = await attempt(processor, event, name);
      if (result.kind !== "retry") break;
    }
    await Promise.all(told.splice(0));
    const staged = await readStaged(ledger, key, thrown);
    return {
      ...staged,
      nextAttemptInMs: result?.kind === "retry" ? result.afterMs : undefined,
    };
  }

  return {
    run,
    show: (key) => readStaged(ledger, key, thrown),
    close: () => processor.close(),
  };
}

/** One attempt, as a worker makes it of a job that the queue hands it. */
async function attempt(
  processor: Processor,
  event: EnvelopedEvent,
  run: string,
): Promise<JobResult> {
  const { signal } = new AbortController();
  const result = await processor.process({ event, run, enqueuedAtMs: Date.now(), signal });
  if (result.kind === "retry" && !result.recorded) {
    const { code, message } = result;
    throw new MillraceError(code, `Cannot attempt event "${event.eventId}": ${message}`);
  }
  return result;
}

/** Remembers what the handler threw: the ledger keeps its words alone. */
function noting(handler: Handler, thrown: Map<string, unknown>): Handler {
  return {
    ...handler,
    run: async (event, context) => {
      const { source, id: eventId, generation } = event;
      try {
        await handler.run(event, context);
      } catch (error) {
        thrown.set(keyName({ source, eventId, generation }), error);
        throw error;
      }
    },
  };
}

async function tell(
  { onFailed }: Config,
  { key, type, attempt: attempts, code, message }: Notice & { kind: "attempt_failed" },
): Promise<void> {
  const event: FailedEvent = { ...key, type, attempts, code, message };
  await onFailed?.(event);
}

/** The job that the queue would carry: the identity, and no body, for the ledger has it. */
async function jobOf(ledger: Ledger, key: EventKey): Promise<EnvelopedEvent> {
  const [found] = await ledger.repair.ledgerStatuses([key]);
  if (found === undefined) throw eventNotFound(key);
  return { ...found.event, headers: {}, body: undefined };
}
