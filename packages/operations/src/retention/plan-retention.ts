import type { BodyPartition } from "@millrace/ledger";
import { archivePath, checkArchiveDir } from "./archive-partition.ts";
import type { RetentionDeps, RetentionPolicy } from "./policy.ts";

export interface PlannedPartition {
  readonly day: string;
  readonly ageDays: number;
  /** On disk, which the drop gives back. */
  readonly bytes: number;
  readonly events: number;
  /** Events that are not completed, whose bodies would be moved. */
  readonly toMove: number;
  readonly archive: string | undefined;
}

/** The work that `runRetention` would do now. */
export interface RetentionPlan {
  readonly partitions: readonly PlannedPartition[];
  readonly keysToDelete: number;
  readonly oldestDay: string | undefined;
}

/** @throws `archive_failed`, `database_unavailable` */
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
