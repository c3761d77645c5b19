import { randomUUID } from "node:crypto";
import type { Ledger } from "@millrace/ledger";
import { queueName, type Queues } from "@millrace/queue";

/** The means to detect that a queue is another than the one that the ledger was compared with. */
export interface EpochDeps {
  readonly ledger: Pick<Ledger, "repair">;
  readonly queues: Pick<Queues, "epochs" | "writeEpoch">;
}

/**
 * The reason to compare a queue as a whole: this ledger was never compared with it, or it has
 * changed.
 */
export type QueueChange = "new" | "changed";

/**
 * Those of the sources whose queue is not the one that the ledger was last compared with as a
 * whole: it is new, or it was flushed, restored, replaced, or its server restarted and may have
 * lost the last writes.
 */
export async function changedQueues(
  {
    ledger,
    queues,
  }: {
    readonly ledger: EpochDeps["ledger"];
    readonly queues: Pick<EpochDeps["queues"], "epochs">;
  },
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

/**
 * Writes a new epoch into queues before they are compared as a whole, and returns how they are
 * known now.
 */
export async function beginEpochs(
  { queues }: Pick<EpochDeps, "queues">,
  sources: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  await Promise.all(sources.map((source) => queues.writeEpoch(source, randomUUID())));
  const begun = await queues.epochs(sources);
  return new Map(sources.map((source) => [source, begun.get(source)]));
}

/**
 * Keeps in the ledger how queues were known before everything was compared with them. One that was
 * lost in the meantime is known by another epoch now, and the next pass compares it again.
 */
export async function keepEpochs(
  { ledger }: Pick<EpochDeps, "ledger">,
  begun: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  const known = [...begun].flatMap(([source, epoch]) =>
    epoch === undefined ? [] : [[queueName(source), epoch] as const],
  );
  await ledger.repair.writeEpochs(new Map(known));
}
