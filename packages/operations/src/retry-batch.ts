import type { EventKey } from "@millrace/core";
import type { RetryManyAnswer } from "@millrace/ledger";
import type { JobQueues, RetryLedger } from "./ports.ts";
import { wakeJobs } from "./put-jobs.ts";
import { answerOf, queuedOf, type RunAgainAnswer } from "./run-again.ts";
import { skipped, type Skip } from "./skip.ts";

interface Deps {
  readonly ledger: Pick<RetryLedger, "retryMany" | "markEnqueued">;
  readonly queues: JobQueues;
}

/**
 * Retries some events together: all of them in the ledger first, then their jobs. One answer a key.
 *
 * @throws `database_unavailable`
 */
export async function retryBatch(
  deps: Deps,
  keys: readonly EventKey[],
  options: { dryRun: boolean },
): Promise<readonly RunAgainAnswer[]> {
  const { ledger, queues } = deps;
  const became = await ledger.retryMany(keys, options);
  const retried = became.flatMap((answer) => (answer.kind === "retried" ? [answer.event] : []));
  const jobs = options.dryRun ? [] : await wakeJobs(queues, retried, { patient: true });
  const turns = jobs.values();
  const answers = became.map((answer) =>
    answer.kind === "retried"
      ? answerOf(answer.event, turns.next().value)
      : skipped(WHY_NOT[answer.kind]),
  );
  if (!options.dryRun) await ledger.markEnqueued(queuedOf(answers));
  return answers;
}

const WHY_NOT: Record<Exclude<RetryManyAnswer["kind"], "retried">, Skip> = {
  pending: "not_failed",
  completed: "not_failed",
  not_found: "not_found",
  body_missing: "body_missing",
};
