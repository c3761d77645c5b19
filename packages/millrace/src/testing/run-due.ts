import { MillraceError, type EventKey } from "@millrace/core";
import type { DeliveredEvent } from "./delivered.ts";
import type { TestLedger } from "./test-ledger.ts";
import type { TestWorker } from "./test-worker.ts";

/** The ledger that finds due events, and the worker that runs them. */
interface Running {
  readonly tests: TestLedger;
  readonly worker: Pick<TestWorker, "run">;
}

/**
 * More attempts than a test wants. A handler that waits repeatedly runs until its source's
 * `waitMaxMs` is over.
 */
const RUNS_MAX = 1_000;
/** A year and a day: `emit` delays by a year at most. */
const ADVANCE_MS_MAX = 366 * 86_400_000;

/**
 * Runs the events that these emitted, and the events that those emit, as far as they are due.
 *
 * @throws `endless_chain`
 */
export async function settleEmitted(
  parents: readonly DeliveredEvent[],
  attempts: number,
  { tests, worker }: Running,
): Promise<void> {
  const chain = parents.map(({ event }) => keyOf(event));
  let runs = 0;
  for (const parent of chain) {
    for (const { isDue, ...key } of await tests.emitted(parent)) {
      chain.push(key);
      if (!isDue) continue;
      if ((runs += 1) > RUNS_MAX) throw endlessChain("settle what was emitted", key);
      await worker.run(key, attempts);
    }
  }
}

/**
 * Lets time pass, and makes each attempt that becomes due, in order.
 *
 * @throws `endless_chain`
 */
export async function advance(
  ms: number,
  { tests, worker }: Running,
): Promise<readonly DeliveredEvent[]> {
  if (!(ms >= 0 && ms <= ADVANCE_MS_MAX)) {
    throw new RangeError(`Cannot advance by ${ms} ms: it must be 0 to ${ADVANCE_MS_MAX}`);
  }
  const ran: DeliveredEvent[] = [];
  let leftMs = ms;
  for (;;) {
    const due = await tests.nextDue(leftMs);
    if (due === undefined) break;
    const { inMs, ...key } = due;
    if (ran.length >= RUNS_MAX) throw endlessChain(`advance by ${ms} ms`, key);
    await tests.passTime(inMs);
    leftMs -= inMs;
    ran.push(await worker.run(key, 1));
  }
  await tests.passTime(leftMs);
  return ran;
}

export function keyOf({ source, event_id, generation }: DeliveredEvent["event"]): EventKey {
  return { source, eventId: event_id, generation };
}

function endlessChain(what: string, { source, eventId }: EventKey): MillraceError {
  return new MillraceError(
    "endless_chain",
    `Cannot ${what}: after ${RUNS_MAX} attempts event "${eventId}" of "${source}" is due, so that handlers emit or wait without end`,
  );
}
