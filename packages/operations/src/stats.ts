import type { SourceStats } from "@millrace/api-contract";
import type { Ledger, Refusals } from "@millrace/ledger";
import type { JobCounts, Queues } from "@millrace/queue";

interface Deps {
  readonly ledger: {
    readonly reads: Pick<Ledger["reads"], "countUndone" | "countCompleted"> & {
      readonly findRefusals: () => Promise<readonly Refusals[]>;
    };
  };
  readonly queues: Pick<Queues, "queues" | "counts" | "ping">;
}

/** A queue that does not answer leaves its part empty. @throws `database_unavailable` */
export async function stats(deps: Deps): Promise<ReadonlyMap<string, SourceStats>> {
  const [undone, completed, jobs, refusals] = await Promise.all([
    deps.ledger.reads.countUndone(),
    deps.ledger.reads.countCompleted(),
    jobCounts(deps.queues),
    deps.ledger.reads.findRefusals(),
  ]);
  const sources = new Set([...deps.queues.queues.keys(), ...undone.keys(), ...completed.keys()]);
  return new Map(
    [...sources].toSorted().map((source) => {
      const of = jobs?.get(source) ?? null;
      const queued = of === null ? null : of.waiting + of.active + of.delayed;
      const { pending, failed } = undone.get(source) ?? { pending: 0, failed: 0 };
      const refused = refusals
        .filter((one) => one.source === source)
        .map(({ code, deliveries }) => ({ reason: code, deliveries }));
      const ended = { completed: completed.get(source) ?? 0, failed };
      return [source, { pending, ...ended, queued, jobs: of, refused }];
    }),
  );
}

/** Undefined where the queue does not answer. */
export async function jobCounts(
  queues: Pick<Queues, "counts" | "ping">,
): Promise<ReadonlyMap<string, JobCounts> | undefined> {
  try {
    // Bounded, which the counting of a queue on a dead server is not.
    await queues.ping();
    return await queues.counts();
  } catch {
    return undefined;
  }
}
