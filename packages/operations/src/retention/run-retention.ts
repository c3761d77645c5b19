import { wait, type Config } from "@millrace/core";
import type { BodyPartition, RetentionLedger } from "@millrace/ledger";

export type RetentionPolicy = Config["retention"];

export interface RetentionDeps {
  readonly ledger: RetentionLedger;
  readonly notify: (notice: RetentionNotice) => void;
}

export type RetentionNotice =
  /** Bodies of events that are not completed were moved on from a day to today. */
  | { readonly kind: "moved"; readonly day: string; readonly events: number }
  | { readonly kind: "dropped"; readonly day: string; readonly bytes: number }
  | { readonly kind: "busy"; readonly day: string }
  | { readonly kind: "keys_deleted"; readonly events: number };

export type RetentionResult =
  | {
      readonly kind: "done";
      readonly dropped: readonly string[];
      /** Days that are left for the next run, because their bodies are in use. */
      readonly busy: readonly string[];
      readonly keysDeleted: number;
      readonly oldestDay: string | undefined;
    }
  | { readonly kind: "taken" };

/**
 * Drops old bodies, and deletes old events and bulk runs, by the database's clock; never events
 * that are pending or failed. One process does it at a time; the next run continues a cut one.
 * @throws `database_unavailable`, the signal's reason
 */
export async function runRetention(
  deps: RetentionDeps,
  policy: RetentionPolicy,
  signal?: AbortSignal,
): Promise<RetentionResult> {
  const ran = await deps.ledger.withLeadership((lost) =>
    runAlone(deps, policy, signal === undefined ? lost : AbortSignal.any([lost, signal])),
  );
  return ran ?? { kind: "taken" };
}

async function runAlone(
  deps: RetentionDeps,
  policy: RetentionPolicy,
  signal: AbortSignal,
): Promise<RetentionResult> {
  const dropped: string[] = [];
  const busy: string[] = [];
  const due = (await deps.ledger.partitions()).filter(({ ageDays }) => ageDays > policy.bodiesDays);
  // The partition that an earlier run began to detach goes first: there can be only one.
  const rank = ({ state }: BodyPartition) => (state === "detaching" ? 0 : 1);
  for (const partition of due.toSorted((one, other) => rank(one) - rank(other))) {
    const result = await retirePartition(deps, partition, signal);
    (result === "dropped" ? dropped : busy).push(partition.day);
    if (result === "busy") deps.notify({ kind: "busy", day: partition.day });
  }
  const oldestDay = (await deps.ledger.partitions())[0]?.day;
  const keysDeleted = await deleteKeys(deps, policy.keysDays, { bodiesFrom: oldestDay, signal });
  await deps.ledger.deleteErrors(policy.keysDays);
  while (await deps.ledger.deleteRuns(policy.keysDays)) signal.throwIfAborted();
  return { kind: "done", dropped, busy, keysDeleted, oldestDay };
}

/** Bodies of events that are not completed move to today; the rest is dropped. */
async function retirePartition(
  deps: RetentionDeps,
  partition: BodyPartition,
  signal: AbortSignal,
): Promise<"dropped" | "busy"> {
  const { ledger, notify } = deps;
  const { day, bytes } = partition;
  if (!(await moveBodies(deps, partition, signal))) return "busy";
  if ((await ledger.detach(partition, signal)) === "busy") return "busy";
  // No event can come to need a body of a past day; if one did, it is moved here.
  if (!(await moveBodies(deps, partition, signal))) return "busy";
  await ledger.forgetFinds(partition, signal);
  if ((await ledger.drop(partition, signal)) === "busy") return "busy";
  notify({ kind: "dropped", day, bytes });
  return "dropped";
}

const BUSY_TRIES = 10;
const BUSY_RETRY_DELAY_MS = 500;

/** False when attempts hold some of the events, and do not release them. */
async function moveBodies(
  { ledger, notify }: RetentionDeps,
  partition: BodyPartition,
  signal: AbortSignal,
): Promise<boolean> {
  let triesLeft = BUSY_TRIES;
  for (;;) {
    signal.throwIfAborted();
    const { found, moved } = await ledger.moveBodies(partition);
    if (found === 0) return true;
    if (moved > 0) {
      triesLeft = BUSY_TRIES;
      notify({ kind: "moved", day: partition.day, events: moved });
      continue;
    }
    if (triesLeft === 0) return false;
    triesLeft -= 1;
    await wait(BUSY_RETRY_DELAY_MS, signal);
  }
}

async function deleteKeys(
  { ledger, notify }: RetentionDeps,
  keysDays: number,
  { bodiesFrom = "infinity", signal }: { bodiesFrom: string | undefined; signal: AbortSignal },
): Promise<number> {
  let deleted = 0;
  let from: string | undefined;
  do {
    signal.throwIfAborted();
    const batch = await ledger.deleteKeys({ keysDays, bodiesFrom }, from);
    deleted += batch.deleted;
    from = batch.next;
    if (batch.deleted > 0) notify({ kind: "keys_deleted", events: batch.deleted });
  } while (from !== undefined);
  return deleted;
}
