import { randomUUID } from "node:crypto";
import { queueName } from "@millrace/queue";
import type { MendDeps } from "./ports.ts";

type Deps = Pick<MendDeps, "ledger" | "queues">;

/**
 * The sources whose queue is not the one that the ledger was last compared with as a whole: it was
 * flushed, restored, replaced, or its server restarted and may have lost the last of what it was given.
 */
export async function changedQueues({
  ledger,
  queues,
}: {
  readonly ledger: Pick<Deps["ledger"], "readEpochs">;
  readonly queues: Pick<Deps["queues"], "epochs">;
}): Promise<string[]> {
  const [left, kept] = await Promise.all([queues.epochs(), ledger.readEpochs()]);
  return [...left]
    .filter(([source, epoch]) => epoch === undefined || kept.get(queueName(source)) !== epoch)
    .map(([source]) => source);
}

/** Marks queues afresh before they are compared as a whole, and gives what they are known by now. */
export async function beginEpochs(
  { queues }: Deps,
  sources: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  await Promise.all(sources.map((source) => queues.writeEpoch(source, randomUUID())));
  const begun = await queues.epochs();
  return new Map(sources.map((source) => [source, begun.get(source)]));
}

/**
 * Keeps what queues were known by before everything was compared with them. One that was lost in the
 * meantime is known by something else now, and the next pass compares it again.
 */
export async function keepEpochs(
  { ledger }: Pick<Deps, "ledger">,
  begun: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  const known = [...begun].flatMap(([source, epoch]) =>
    epoch === undefined ? [] : [[queueName(source), epoch] as const],
  );
  await ledger.writeEpochs(new Map(known));
}
