import type { EnvelopedEvent } from "@millrace/core";
import type { Standing } from "@millrace/ledger";
import type { EndedFrom, EndedJob } from "@millrace/queue";
import { inLanes } from "../in-lanes.ts";
import { disagreementOf, type Disagreement } from "./disagreement.ts";
import type { CompareDeps } from "./ports.ts";

/** Which of the jobs that have ended are compared. */
export interface EndedWalk {
  readonly source: string;
  readonly state: "failed" | "completed";
  /** Those that ended from then on. */
  readonly sinceMs: number;
  /** Milliseconds that an event or an end is left alone, because somebody is still at it. */
  readonly graceMs: number;
  /** Days that a completed event is known. An older job says nothing of the ledger. */
  readonly keysDays: number;
}

/** Jobs that are read with their bodies at once. */
const LANES = 8;
const DAY_MS = 86_400_000;

/** Compares jobs that have ended with their events, a page at a time; says how many each page had. */
export async function* compareEnded(
  deps: CompareDeps,
  walk: EndedWalk,
): AsyncGenerator<{ readonly found: readonly Disagreement[]; readonly looked: number }> {
  let from: EndedFrom | undefined = { atMs: walk.sinceMs, skip: 0 };
  while (from !== undefined) {
    const page = await deps.queues.endedJobs(walk.source, walk.state, from);
    yield { found: await comparePage(deps, page.jobs, walk), looked: page.jobs.length };
    from = page.next;
  }
}

type OurJob = EndedJob & { readonly event: EnvelopedEvent };

async function comparePage(
  deps: CompareDeps,
  jobs: readonly EndedJob[],
  walk: EndedWalk,
): Promise<Disagreement[]> {
  const ours = jobs.filter((job): job is OurJob => job.event !== undefined);
  if (ours.length === 0) return [];
  const rows = await deps.ledger.standings(ours.map(({ event }) => event));
  const pairs = ours.map((job, index) => ({ job, row: rows[index] }));
  const compared = await inLanes(pairs, LANES, (pair) => compareOne(deps, pair, walk));
  return compared.filter((found) => {
    if (found instanceof Error) throw found;
    return found !== undefined;
  });
}

async function compareOne(
  deps: CompareDeps,
  { job, row }: { job: OurJob; row: Standing | undefined },
  walk: EndedWalk,
): Promise<Disagreement | undefined> {
  const { event } = job;
  const kind = disagreementOf(row, { ...job, state: walk.state });
  if (kind === undefined || isFresh(job, row, walk)) return undefined;
  if (row === undefined && !(await isEvent(deps, event, walk))) return undefined;
  return { kind, event: row?.event ?? event, end: job, placed: row?.placed ?? false };
}

/** A worker that gave a job up is about to say so; a retry is about to wake it. */
function isFresh(job: EndedJob, row: Standing | undefined, { graceMs }: EndedWalk): boolean {
  return row === undefined ? Date.now() - job.finishedAtMs < graceMs : row.pendingForMs < graceMs;
}

/** Whether a job that the ledger knows nothing of is of an event that it should know. */
async function isEvent(
  { queues, isSound }: CompareDeps,
  event: EnvelopedEvent,
  walk: EndedWalk,
): Promise<boolean> {
  if (event.acceptedAtMs < Date.now() - walk.keysDays * DAY_MS) return false;
  if (walk.state === "completed") return true;
  const job = await queues.findJob(event);
  return job?.state === "failed" && job.event !== undefined && isSound(job.event);
}
