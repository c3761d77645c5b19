import type { EventKey, QueuedEvent, Settlement } from "@millrace/core";
import { checkJob, type Processor } from "@millrace/processor";
import type { FailureHook } from "./failure-hook.ts";
import type { WorkerLedger } from "./ports.ts";

const LEDGER_AWAY_DELAY_MS = 5_000;

interface SettleDeps {
  readonly processor: Pick<Processor, "process">;
  readonly ledger: Pick<WorkerLedger, "giveUp">;
  readonly isDatabaseTrouble: (error: unknown) => boolean;
}

/**
 * Settles a job, and sees to it that a job that was failed without an attempt is failed in the
 * ledger too, if the ledger knows its event: a person may have edited the job's data.
 */
export async function settleJob(job: QueuedEvent, deps: SettleDeps): Promise<Settlement> {
  const [settlement] = await Promise.all(deps.processor.process([job]));
  if (settlement === undefined) throw new RangeError("Cannot settle job: no settlement");
  if (settlement.kind !== "failed" || settlement.recorded === true) return settlement;
  const { code, message } = settlement;
  try {
    await deps.ledger.giveUp(keyOf(job), { code, message, run: job.run });
    return settlement;
  } catch (error) {
    // An id that Postgres cannot hold is not in the ledger either.
    if (!deps.isDatabaseTrouble(error)) return settlement;
    return { kind: "retry", afterMs: LEDGER_AWAY_DELAY_MS, code, message, recorded: false };
  }
}

/**
 * Fails in the ledger what the queue has given up without running it. The body of a job that does
 * not bear a check is not recorded.
 */
export async function settleGivenUp(
  job: QueuedEvent,
  reason: string,
  { ledger, hook }: GiveUpDeps,
): Promise<void> {
  const event = checkJob(job) === undefined ? job.event : keyOf(job);
  const failure = { code: "gave_up", message: reason } as const;
  const became = await ledger.giveUp(event, { ...failure, run: job.run });
  if (became === "failed") await tellGivenUp(job.event, reason, { ledger, hook });
}

/** Tells the user's hook of an event that was failed for good without an attempt. */
export async function tellGivenUp(
  { source, eventId, generation, type }: EventKey & { readonly type: string },
  message: string,
  { ledger, hook }: Pick<GiveUpDeps, "hook"> & { readonly ledger: Pick<WorkerLedger, "findEvent"> },
): Promise<void> {
  if (hook === undefined) return;
  const key = { source, eventId, generation };
  const detail = await ledger.findEvent(key);
  const attempts = detail?.event.attempts ?? 0;
  hook.tell({ ...key, type, attempts, code: "gave_up", message });
}

interface GiveUpDeps {
  readonly ledger: Pick<WorkerLedger, "giveUp" | "findEvent">;
  /** Told of what failed for good with it. */
  readonly hook?: Pick<FailureHook, "tell"> | undefined;
}

function keyOf({ event: { source, eventId, generation } }: QueuedEvent): EventKey {
  return { source, eventId, generation };
}
