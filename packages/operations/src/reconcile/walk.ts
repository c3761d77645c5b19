import type { EnvelopedEvent } from "@millrace/core";
import type { Ledger, LedgerStatus, PendingQuery } from "@millrace/ledger";
import { compareFinished, comparePending, type FinishedWalk } from "./compare.ts";
import type { CompareDeps, Disagreement } from "./disagreement.ts";

export interface Finding {
  readonly found: readonly Disagreement[];
  /** Pending events with a job on its way that the ledger does not know to be enqueued. */
  readonly toMark: readonly EnvelopedEvent[];
  readonly looked: number;
}

export interface FindOptions {
  readonly sources: readonly string[];
  readonly graceMs: number;
  readonly pageMax?: number | undefined;
}

/** Pending events that are read at once, of all sources together. */
export const PAGE_MAX = 1_000;

interface PendingOptions extends Pick<Walk, "hasCapacity">, FindOptions {
  /** `every` where a queue may have lost jobs: an ingress may write `enqueued_at` after that. */
  readonly which: "every" | "enqueued" | "not_enqueued";
}

export async function* findPending(
  deps: CompareDeps,
  { which, ...options }: PendingOptions,
): AsyncGenerator<Finding> {
  const walk = { ...options, which: which === "not_enqueued" ? which : ("every" as const) };
  for await (const page of pages(deps.ledger, walk)) {
    const rows = which === "enqueued" ? page.filter((row) => row.enqueued) : page;
    yield { ...(await comparePending(deps, rows)), looked: page.length };
  }
}

export async function* findFinished(
  deps: CompareDeps,
  { sources, ...walk }: Omit<FinishedWalk, "source"> & Pick<FindOptions, "sources">,
): AsyncGenerator<Finding> {
  for (const source of sources) {
    for await (const page of compareFinished(deps, { ...walk, source })) {
      yield { ...page, toMark: [] };
    }
  }
}

interface Walk extends PendingQuery, FindOptions {
  /** Asked before each page of a source but the first: whether to go on with the source. */
  readonly hasCapacity?: (source: string) => boolean;
}

/** Reads the oldest pending events, some of each source in turn, so that none waits for another. */
async function* pages(
  ledger: Pick<Ledger, "repair">,
  { sources, hasCapacity = () => true, pageMax = PAGE_MAX, which, graceMs }: Walk,
): AsyncGenerator<readonly LedgerStatus[]> {
  let left = new Map<string, LedgerStatus | undefined>(
    sources.map((source) => [source, undefined]),
  );
  while (left.size > 0) {
    const limit = Math.ceil(pageMax / left.size);
    const cursors = [...left].map(([source, after]) => ({ source, after, limit }));
    const page = await ledger.repair.pendingPage(cursors, { which, graceMs });
    if (page.length > 0) yield page;
    const unfinished = [...left.keys()].flatMap((source) => {
      const own = page.filter(({ event }) => event.source === source);
      const isMore = own.length === limit && hasCapacity(source);
      return isMore ? [[source, own.at(-1)] as const] : [];
    });
    left = new Map(unfinished);
  }
}
