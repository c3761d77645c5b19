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
  /** Of them, events that the ledger alone has accepted, and that get their first job now. */
  readonly owed: number;
  readonly repaired: number;
  readonly examples: Reported["examples"];
}

export type FoundByKind = ReadonlyMap<DisagreementKind, Found>;

const NONE: Found = { count: 0, owed: 0, repaired: 0, examples: [] };

export function addFound(
  one: FoundByKind,
  more: Iterable<readonly [DisagreementKind, Found]>,
  examplesMax: number,
): FoundByKind {
  const sum = new Map(one);
  for (const [kind, { count, owed, repaired, examples }] of more) {
    const known = sum.get(kind) ?? NONE;
    sum.set(kind, {
      count: known.count + count,
      owed: known.owed + owed,
      repaired: known.repaired + repaired,
      examples: [...known.examples, ...examples].slice(0, examplesMax),
    });
  }
  return sum;
}

export function countOne(one: Disagreement): [DisagreementKind, Found] {
  const isOwed = one.kind === "pending_without_job" && !one.enqueued;
  return [one.kind, { ...NONE, count: 1, owed: isOwed ? 1 : 0, examples: [toExample(one)] }];
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
