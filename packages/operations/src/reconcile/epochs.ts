import { randomUUID } from "node:crypto";
import type { Ledger } from "@millrace/ledger";
import { queueName, type Queues } from "@millrace/queue";

export interface EpochDeps {
  readonly ledger: Pick<Ledger, "repair">;
  readonly queues: Pick<Queues, "epochs" | "writeEpoch">;
}

/** The ledger was never compared with the queue, or the queue has changed since. */
export type QueueChange = "new" | "changed";

/**
 * Finds the queues that are not those of the last comparison: new, flushed, restored, replaced, or
 * on a server that was restarted and may have lost the last writes.
 */
export async function changedQueues(
  { ledger, queues }: { ledger: EpochDeps["ledger"]; queues: Pick<Queues, "epochs"> },
  sources: readonly string[],
): Promise<ReadonlyMap<string, QueueChange>> {
  const [current, kept] = await Promise.all([queues.epochs(sources), ledger.repair.readEpochs()]);
  const changes = new Map<string, QueueChange>();
  for (const [source, epoch] of current) {
    const known = kept.get(queueName(source));
    if (known === undefined) changes.set(source, "new");
    else if (epoch !== known.epoch) changes.set(source, "changed");
  }
  return changes;
}

/** Writes a new epoch into queues before they are compared, and returns their epochs. */
export async function beginEpochs(
  { queues }: Pick<EpochDeps, "queues">,
  sources: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  await Promise.all(sources.map((source) => queues.writeEpoch(source, randomUUID())));
  const begun = await queues.epochs(sources);
  return new Map(sources.map((source) => [source, begun.get(source)]));
}

/** Keeps the epochs from before a comparison: a queue that was lost since has another one. */
export async function keepEpochs(
  { ledger }: Pick<EpochDeps, "ledger">,
  begun: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  const known = [...begun].flatMap(([source, epoch]) =>
    epoch === undefined ? [] : [[queueName(source), epoch] as const],
  );
  await ledger.repair.writeEpochs(new Map(known));
}
