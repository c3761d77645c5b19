import { setTimeout as sleep } from "node:timers/promises";
import { countLive } from "./check/queue-dump.ts";
import type { Senders } from "./load/senders.ts";
import type { Stage } from "./stage/stage.ts";

/**
 * Waits until every delivery is answered, nothing is pending and no job lives. Gives what is left over
 * when that does not come about in time.
 */
export async function drain(
  stage: Stage,
  senders: Pick<Senders, "outstanding">,
  withinMs: number,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    signal?.throwIfAborted();
    const deliveries = senders.outstanding;
    const pending = await countPending(stage);
    const jobs = await countLive(stage);
    if (deliveries + pending + jobs === 0) return undefined;
    if (performance.now() > deadlineMs) {
      return `not settled in ${withinMs / 1_000} s: ${deliveries} deliveries, ${pending} pending, ${jobs} live jobs`;
    }
    await sleep(200);
  }
}

async function countPending(stage: Stage): Promise<number> {
  const { rows } = await stage.database.query(
    "select count(*)::int from millrace.events where status = 'pending'",
  );
  return rows[0].count;
}
