import type { BodyPartition, RetentionLedger } from "@millrace/ledger";
import { checkArchiveDir } from "./archive-partition.ts";
import { retirePartition } from "./retire-partition.ts";
import type { RetentionDeps, RetentionPolicy } from "./retention-options.ts";

/** What a run came to; what it did was told as it went. */
export type RetentionResult =
  | {
      readonly kind: "done";
      readonly dropped: readonly string[];
      /** Days that are left for the next run, because somebody used what is in them. */
      readonly busy: readonly string[];
      readonly keysDeleted: number;
      /** The oldest day whose bodies are there now. */
      readonly oldestDay: string | undefined;
    }
  /** Another process is at it just now. */
  | { readonly kind: "taken" };

/**
 * Drops the bodies that are older than they are kept, and deletes the events that are older than they
 * are known: by the database's clock, never what is pending or failed, and one process at a time. It
 * may end anywhere, and the next run goes on from there.
 *
 * @throws `archive_failed`, `database_unavailable`, the signal's reason
 */
export async function runRetention(
  deps: RetentionDeps,
  policy: RetentionPolicy,
  signal?: AbortSignal,
): Promise<RetentionResult> {
  if (policy.archiveDir !== undefined) await checkArchiveDir(policy.archiveDir);
  const ran = await deps.ledger.alone((lost) =>
    runAlone(deps, policy, signal === undefined ? lost : AbortSignal.any([lost, signal])),
  );
  return ran.kind === "taken" ? ran : ran.value;
}

async function runAlone(
  deps: RetentionDeps,
  policy: RetentionPolicy,
  signal: AbortSignal,
): Promise<RetentionResult> {
  const dropped: string[] = [];
  const busy: string[] = [];
  for (const partition of await duePartitions(deps.ledger, policy)) {
    const became = await retirePartition(deps, partition, { ...policy, signal });
    (became === "dropped" ? dropped : busy).push(partition.day);
    if (became === "busy") deps.notify({ kind: "busy", day: partition.day });
  }
  const oldestDay = (await deps.ledger.partitions())[0]?.day;
  const keysDeleted = await deleteKeys(deps, policy.keysDays, { bodiesFrom: oldestDay, signal });
  return { kind: "done", dropped, busy, keysDeleted, oldestDay };
}

/** One that somebody began to take off its table goes first: there can be only one such. */
async function duePartitions(
  ledger: RetentionLedger,
  { bodiesDays }: RetentionPolicy,
): Promise<readonly BodyPartition[]> {
  const due = (await ledger.partitions()).filter(({ ageDays }) => ageDays > bodiesDays);
  const isBegun = ({ state }: BodyPartition) => state === "detaching";
  return [...due.filter(isBegun), ...due.filter((partition) => !isBegun(partition))];
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
