import type { EventIdentity } from "@millrace/ledger";
import type { PutJob } from "./put-jobs.ts";
import type { SkippedEvent } from "./skip.ts";

/** What became of one of several events. */
export type RunAgainAnswer =
  | SkippedEvent
  /** Its job waits, or in a dry run would. */
  | { readonly kind: "done"; readonly event: EventIdentity }
  /** It is pending in the ledger, and the queue did not take its job: the reconciler will see to it. */
  | { readonly kind: "unqueued"; readonly event: EventIdentity; readonly cause: Error };

/** The answer for an event that is pending now, from what its queue said. */
export function answerOf(event: EventIdentity, job: PutJob | undefined): RunAgainAnswer {
  return job instanceof Error ? { kind: "unqueued", event, cause: job } : { kind: "done", event };
}

/** Which of the answers' events have a job. */
export function queuedOf(answers: readonly RunAgainAnswer[]): EventIdentity[] {
  return answers.flatMap((answer) => (answer.kind === "done" ? [answer.event] : []));
}
