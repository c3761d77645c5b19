import type { BodyPartition } from "@millrace/ledger";
import { archivePath, checkArchiveDir } from "./archive-partition.ts";
import type { RetentionDeps, RetentionPolicy } from "./policy.ts";

/** A day whose bodies would be dropped. */
export interface PlannedPartition {
  readonly day: string;
  readonly ageDays: number;
  /** On disk, which the drop gives back. */
  readonly bytes: number;
  /** Events whose bodies are in it. */
  readonly events: number;
  /** Those of them that are not completed, whose bodies would be moved first. */
  readonly toMove: number;
  /** The file that the others would be written to. */
  readonly archive: string | undefined;
}

/** The work that `runRetention` would do now. */
export interface RetentionPlan {
  readonly partitions: readonly PlannedPartition[];
  /** Completed events that would be deleted. */
  readonly keysToDelete: number;
  /** The oldest day whose bodies are kept. */
  readonly oldestDay: string | undefined;
}

/**
 * Plans a run, and changes nothing.
 *
 * @throws `archive_failed`, `database_unavailable`
 */
export async function planRetention(
  deps: Pick<RetentionDeps, "ledger">,
  policy: RetentionPolicy,
): Promise<RetentionPlan> {
  if (policy.archiveDir !== undefined) await checkArchiveDir(policy.archiveDir);
  const all = await deps.ledger.partitions();
  const isDue = ({ ageDays }: BodyPartition) => ageDays > policy.bodiesDays;
  const partitions: PlannedPartition[] = [];
  for (const partition of all.filter(isDue)) {
    partitions.push(await planPartition(deps, partition, policy));
  }
  const keysToDelete = await deps.ledger.countExpiredKeys({
    keysDays: policy.keysDays,
    bodiesFrom: all.find((partition) => !isDue(partition))?.day ?? "infinity",
  });
  return { partitions, keysToDelete, oldestDay: all[0]?.day };
}

async function planPartition(
  { ledger }: Pick<RetentionDeps, "ledger">,
  partition: BodyPartition,
  { archiveDir }: RetentionPolicy,
): Promise<PlannedPartition> {
  const { day, ageDays, bytes } = partition;
  const archive = archiveDir === undefined ? undefined : archivePath(archiveDir, partition);
  const events = await ledger.countEventsOf(partition);
  const toMove = await ledger.countUnsettled(partition);
  return { day, ageDays, bytes, events, toMove, archive };
}
