import {
  MillraceError,
  type Config,
  type EnvelopedEvent,
  type EventKey,
  type FailedEvent,
  type Handler,
  type JobResult,
  type WebhookEvent,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { createProcessor, type Notice, type Processor } from "@millrace/processor";
import { CONCURRENCY, type ScratchLedger } from "./open-ledger.ts";
import type { DeliveredEvent } from "./delivered.ts";
import { keyName } from "./key-name.ts";
import { eventNotFound, readDelivered } from "./read-delivered.ts";

export interface TestWorker {
  /** Runs an event of the ledger, up to so many attempts, and returns its status after them. */
  run(key: EventKey, attempts: number): Promise<DeliveredEvent>;
  /** The status of an event. @throws `event_not_found` */
  show(key: EventKey): Promise<DeliveredEvent>;
  close(): Promise<void>;
}

/** Makes what a worker does with an event: claim, handle, settle. The test hands it the job. */
export function createTestWorker(
  config: Config,
  scratch: ScratchLedger,
  handlers: readonly Handler[],
): TestWorker {
  const { ledger } = scratch;
  const thrown = new Map<string, unknown>();
  const calls: Promise<void>[] = [];
  const processor = createProcessor(
    {
      ledger: ledger.claims,
      handlers: handlers.map((handler) => noting(handler, thrown)),
      sources: config.sources,
      notify: (notice) => {
        if (notice.kind !== "attempt_failed" || !notice.final) return;
        const call = callOnFailed(config, notice);
        // `run` awaits it, and throws its error.
        call.catch(() => {});
        calls.push(call);
      },
    },
    {
      concurrency: CONCURRENCY,
      callsMax: config.worker.callsMax,
      handlerTimeoutMs: config.worker.handlerTimeoutMs,
    },
  );
  let runs = 0;

  async function run(key: EventKey, attempts: number): Promise<DeliveredEvent> {
    const event = await jobOf(ledger, key);
    const name = `test-${(runs += 1)}`;
    let result: JobResult | undefined;
    for (let ran = 0; ran < attempts; ran += 1) {
      result = await attempt(processor, event, name);
      if (result.kind !== "retry") break;
      // Waits use up no attempt, and no time passes here.
      if (result.code === "retry_later" && attempts === Infinity) break;
    }
    await Promise.all(calls.splice(0));
    const delivered = await readDelivered(scratch, key, thrown);
    // Of what was asked for, the row shows what is left.
    return result?.kind === "retry" ? { ...delivered, nextAttemptInMs: result.afterMs } : delivered;
  }

  return {
    run,
    show: (key) => readDelivered(scratch, key, thrown),
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

/** Keeps the handler's error: the ledger keeps only its text. */
function noting(handler: Handler, thrown: Map<string, unknown>): Handler {
  const { call, write } = handler;
  const note = async <Result>(
    { source, id, generation }: WebhookEvent,
    run: () => Promise<Result> | Result,
  ) => {
    try {
      return await run();
    } catch (error) {
      thrown.set(keyName({ source, eventId: id, generation }), error);
      throw error;
    }
  };
  return {
    ...handler,
    call: call && ((event, context) => note(event, () => call(event, context))),
    write: write && ((event, ...rest) => note(event, () => write(event, ...rest))),
  };
}

async function callOnFailed(
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
