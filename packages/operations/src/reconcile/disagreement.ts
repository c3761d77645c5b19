import type { DisagreementKind, Disagreement as Reported } from "@millrace/api-contract";
import type { EnvelopedEvent } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { JobProblem, Queues } from "@millrace/queue";

export interface Stores {
  readonly ledger: Pick<Ledger, "repair" | "retries">;
  readonly queues: Queues;
}

export interface CompareDeps extends Stores {
  /** True for an event that can be recorded: anyone may have edited its job, or invented it. */
  readonly isSound: (event: EnvelopedEvent) => boolean;
}

export type Disagreement = EventDisagreement | UnreadableJob;

export type EventDisagreementKind = Exclude<DisagreementKind, UnreadableJob["kind"]>;

export interface EventDisagreement {
  readonly kind: EventDisagreementKind;
  readonly event: EnvelopedEvent;
  readonly end: { readonly run: string; readonly failedReason: string | undefined } | undefined;
  readonly enqueued: boolean;
  readonly dueInMs?: number | undefined;
}

export interface UnreadableJob {
  readonly kind: "unreadable_job";
  readonly source: string;
  readonly jobId: string;
  readonly problem: JobProblem;
}

export interface Found {
  readonly count: number;
  readonly examples: Reported["examples"];
}

export function createCounts(examplesMax: number) {
  const found = new Map<DisagreementKind, Found>();
  return {
    found: found as ReadonlyMap<DisagreementKind, Found>,
    add: (more: readonly Disagreement[]): void => {
      for (const one of more) {
        const { count, examples } = found.get(one.kind) ?? { count: 0, examples: [] };
        found.set(one.kind, {
          count: count + 1,
          examples: examples.length < examplesMax ? [...examples, toExample(one)] : examples,
        });
      }
    },
  };
}

export function addFound(
  one: ReadonlyMap<DisagreementKind, Found>,
  other: ReadonlyMap<DisagreementKind, Found>,
  examplesMax: number,
): ReadonlyMap<DisagreementKind, Found> {
  return addByKind(one, other, (a, b) => ({
    count: a.count + b.count,
    examples: [...a.examples, ...b.examples].slice(0, examplesMax),
  }));
}

export function addByKind<T>(
  one: ReadonlyMap<DisagreementKind, T>,
  other: ReadonlyMap<DisagreementKind, T>,
  add: (a: T, b: T) => T,
): ReadonlyMap<DisagreementKind, T> {
  const sum = new Map(one);
  for (const [kind, value] of other) {
    const before = sum.get(kind);
    sum.set(kind, before === undefined ? value : add(before, value));
  }
  return sum;
}

/** Characters of a job's id that are shown. Ours have 150 at most. */
const JOB_ID_CHARS_MAX = 200;

function toExample(one: Disagreement): Reported["examples"][number] {
  if (one.kind === "unreadable_job") {
    const { source, jobId, problem } = one;
    const detail = `${problem.code}: ${problem.message}`;
    const job_id = jobId.slice(0, JOB_ID_CHARS_MAX);
    return { source, event_id: null, generation: null, job_id, detail };
  }
  const { source, eventId: event_id, generation } = one.event;
  return { source, event_id, generation, job_id: null, detail: one.end?.failedReason ?? null };
}
