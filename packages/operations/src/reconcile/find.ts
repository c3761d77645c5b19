import type { EventIdentity } from "@millrace/ledger";
import { compareEnded } from "./compare-ended.ts";
import { comparePending } from "./compare-pending.ts";
import type { Disagreement } from "./disagreement.ts";
import type { CompareDeps } from "./ports.ts";
import { walkPending } from "./walk-pending.ts";

/** What a look at some events or jobs found. */
export interface Finding {
  readonly found: readonly Disagreement[];
  /** Pending events whose jobs are on their way, which the ledger did not know. */
  readonly unmarked: readonly EventIdentity[];
  /** Events or jobs that were looked at. */
  readonly looked: number;
}

export interface FindOptions {
  readonly sources: readonly string[];
  /** Milliseconds that an event must have been pending. */
  readonly graceMs: number;
}

/** Looks at the pending events that are not known to have a job; see {@link walkPending}. */
export async function* findUnplaced(
  deps: CompareDeps,
  options: FindOptions & { readonly goesOn?: (source: string) => boolean },
): AsyncGenerator<Finding> {
  for await (const page of walkPending(deps.ledger, { ...options, which: "unplaced" })) {
    yield { ...(await comparePending(deps, page)), looked: page.length };
  }
}

/** Looks at the pending events whose jobs were on the queue when they were last seen. */
export async function* findPlaced(
  deps: CompareDeps,
  options: FindOptions,
): AsyncGenerator<Finding> {
  for await (const page of walkPending(deps.ledger, { ...options, which: "every" })) {
    const placed = page.filter((row) => row.placed);
    yield { ...(await comparePending(deps, placed)), looked: page.length };
  }
}

/** Looks at jobs that have ended. */
export async function* findEnded(
  deps: CompareDeps,
  {
    sources,
    ...walk
  }: FindOptions & {
    readonly state: "failed" | "completed";
    readonly sinceMs: number;
    readonly keysDays: number;
  },
): AsyncGenerator<Finding> {
  for (const source of sources) {
    for await (const page of compareEnded(deps, { ...walk, source })) {
      yield { ...page, unmarked: [] };
    }
  }
}
