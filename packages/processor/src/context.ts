import type { EventKey, QueuedEvent, SourcePolicy } from "@millrace/core";
import type { DatabasePatience } from "./database-patience.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Notice } from "./notices.ts";
import type { ClaimPort } from "./ports.ts";

/** The part of a source's policy that decides about attempts. */
export type AttemptPolicy = Pick<SourcePolicy, "attempts" | "backoff" | "bodyDedup">;

/** What the steps of a processor share. */
export interface Context {
  readonly ledger: ClaimPort;
  readonly dispatch: Dispatcher;
  readonly patience: DatabasePatience;
  readonly handlerTimeoutMs: number;
  readonly isDatabaseTrouble: (error: unknown) => boolean;
  readonly notify: (notice: Notice) => void;
  readonly random: () => number;
}

/** One run of a job on its way through the steps. */
export interface Task {
  readonly job: QueuedEvent;
  /** The event's identity and nothing else, fit to be told around. */
  readonly key: EventKey;
  readonly policy: AttemptPolicy;
  /** Aborts when the job's lock is lost, its worker's time is up, or the processor closes. */
  readonly stop: AbortSignal;
}

/** Makes a task. */
export function createTask(job: QueuedEvent, policy: AttemptPolicy, stop: AbortSignal): Task {
  const { source, eventId, generation } = job.event;
  return { job, key: { source, eventId, generation }, policy, stop };
}
