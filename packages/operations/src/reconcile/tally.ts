import type { EventKey } from "@millrace/core";
import type { Disagreement, DisagreementKind } from "./disagreement.ts";

/** What was found of one kind. */
export interface Found {
  readonly count: number;
  /** The first few. */
  readonly examples: readonly (EventKey & { readonly detail: string | undefined })[];
}

export interface Tally {
  add(found: readonly Disagreement[]): void;
  readonly found: ReadonlyMap<DisagreementKind, Found>;
}

/** Counts disagreements by kind, and keeps a few of each. */
export function createTally(examplesMax: number): Tally {
  const found = new Map<DisagreementKind, Found>();
  return {
    found,
    add: (more) => {
      for (const { kind, event, end } of more) {
        const { count, examples } = found.get(kind) ?? { count: 0, examples: [] };
        const { source, eventId, generation } = event;
        const example = { source, eventId, generation, detail: end?.failedReason };
        found.set(kind, {
          count: count + 1,
          examples: examples.length < examplesMax ? [...examples, example] : examples,
        });
      }
    },
  };
}
