import type { Attempt, EventAct, EventDetail, EventStep } from "./events.ts";

// It stands alone, so that the page gets it without the schemas.

export interface FoldedAttempts {
  readonly first: Attempt;
  readonly last: Attempt;
  readonly all: readonly Attempt[];
}

export type TimelineEntry =
  | { readonly kind: "attempts"; readonly attempts: FoldedAttempts }
  | { readonly kind: "act"; readonly act: EventAct }
  | { readonly kind: "step"; readonly step: EventStep };

type Past = Pick<EventDetail, "attempt_log" | "steps" | "acts" | "processed_at">;

/** Something else that belongs between them. */
interface Extra {
  readonly kind: string;
  readonly at: string;
}

/** Acts and extras after the end follow the result. */
export function arrangeTimeline<More extends Extra = never>(
  { attempt_log, steps, acts, processed_at }: Past,
  extras: readonly More[] = [],
) {
  const settledAt = processed_at === null ? Infinity : Date.parse(processed_at);
  const isAfter = ({ at }: Pick<Extra, "at">) => Date.parse(at) > settledAt;
  const isBefore = (entry: Pick<Extra, "at">) => !isAfter(entry);
  return {
    // An attempt belongs before the result, whatever the clocks of two workers say.
    before: orderTimeline(
      { attempt_log, steps, acts: acts.filter(isBefore) },
      extras.filter(isBefore),
    ),
    after: orderTimeline(
      { attempt_log: [], steps: [], acts: acts.filter(isAfter) },
      extras.filter(isAfter),
    ),
  };
}

/** By their time. Equal attempts with nothing between them are one entry. */
export function orderTimeline<More extends Extra = never>(
  past: Omit<Past, "processed_at">,
  extras: readonly More[] = [],
): (TimelineEntry | More)[] {
  const others = [
    ...past.steps.map((step) => ({ at: step.at, entry: { kind: "step" as const, step } })),
    ...past.acts.map((act) => ({ at: act.at, entry: { kind: "act" as const, act } })),
    ...extras.map((entry) => ({ at: entry.at, entry })),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const entries: (TimelineEntry | More)[] = [];
  let rest = past.attempt_log;
  const addAttempts = (until: number) => {
    const earlier = rest.filter(({ finished_at }) => Date.parse(finished_at) <= until);
    rest = rest.slice(earlier.length);
    for (const attempts of foldAttempts(earlier)) entries.push({ kind: "attempts", attempts });
  };
  for (const other of others) {
    addAttempts(Date.parse(other.at));
    entries.push(other.entry);
  }
  addAttempts(Infinity);
  return entries;
}

function foldAttempts(attempts: readonly Attempt[]): FoldedAttempts[] {
  const folded: FoldedAttempts[] = [];
  for (const attempt of attempts) {
    const before = folded.at(-1);
    if (before !== undefined && isSame(before.last, attempt)) {
      folded[folded.length - 1] = { ...before, last: attempt, all: [...before.all, attempt] };
    } else folded.push({ first: attempt, last: attempt, all: [attempt] });
  }
  return folded;
}

function isSame(one: Attempt, other: Attempt): boolean {
  return one.code === other.code && one.message === other.message && one.counted === other.counted;
}
