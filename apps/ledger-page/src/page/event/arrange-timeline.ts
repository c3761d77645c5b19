import type { EventDetail } from "@millrace/api-contract";
import { foldAttempts, type FoldedAttempts } from "@millrace/api-contract/fold-attempts";

export type TimelineEntry =
  | { readonly kind: "attempts"; readonly attempts: FoldedAttempts }
  | { readonly kind: "act"; readonly act: EventDetail["acts"][number] }
  | { readonly kind: "step"; readonly step: EventDetail["steps"][number] };

/** Equal attempts with nothing between them are one entry; acts after the end follow the result. */
export function arrangeTimeline(event: EventDetail): {
  readonly before: readonly TimelineEntry[];
  readonly after: readonly TimelineEntry[];
} {
  const settledAt = event.processed_at === null ? Infinity : Date.parse(event.processed_at);
  const others = [
    ...event.steps.map((step) => ({ at: Date.parse(step.at), kind: "step" as const, step })),
    ...event.acts.map((act) => ({ at: Date.parse(act.at), kind: "act" as const, act })),
  ].toSorted((a, b) => a.at - b.at);
  const before: TimelineEntry[] = [];
  // An attempt belongs before the result, whatever the clocks of two workers say.
  let rest = event.attempt_log;
  const tell = (until: number) => {
    const told = rest.filter(({ finished_at }) => Date.parse(finished_at) <= until);
    rest = rest.slice(told.length);
    before.push(...foldAttempts(told).map((attempts) => ({ kind: "attempts" as const, attempts })));
  };
  for (const other of others.filter(({ at, kind }) => kind === "step" || at <= settledAt)) {
    tell(other.at);
    before.push(other);
  }
  tell(Infinity);
  return { before, after: others.filter(({ at, kind }) => kind === "act" && at > settledAt) };
}
