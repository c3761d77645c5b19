import type { EventLookup } from "@millrace/ledger";
import type { JobQueues, ReplayLedger } from "./ports.ts";
import { putJobs } from "./put-jobs.ts";
import { answerOf, queuedOf, type RunAgainAnswer } from "./run-again.ts";
import { skipped } from "./skip.ts";

interface Deps {
  readonly ledger: ReplayLedger;
  readonly queues: JobQueues;
}

/**
 * Replays some events together: all of them in the ledger first, then their jobs. One answer a lookup.
 *
 * @throws `database_unavailable`
 */
export async function replayBatch(
  deps: Deps,
  lookups: readonly EventLookup[],
  options: { dryRun: boolean },
): Promise<readonly RunAgainAnswer[]> {
  const { ledger, queues } = deps;
  const became = await ledger.replay(lookups, options);
  const replayed = became.flatMap((answer) => (answer.kind === "replayed" ? [answer.event] : []));
  const jobs = options.dryRun ? [] : await putJobs(queues, replayed);
  const turns = jobs.values();
  const answers = became.map((answer) =>
    answer.kind === "replayed" ? answerOf(answer.event, turns.next().value) : skipped(answer.kind),
  );
  if (!options.dryRun) await ledger.markEnqueued(queuedOf(answers));
  return answers;
}
