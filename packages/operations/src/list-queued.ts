import type { QueuedPage, QueuedRow } from "@millrace/api-contract";
import { keyOf, tenantEventId } from "@millrace/core";
import type { EventSearch, Ledger } from "@millrace/ledger";
import type { FoundJob, Queues } from "@millrace/queue";

interface Deps {
  readonly ledger: { readonly repair: Pick<Ledger["repair"], "ledgerStatuses"> };
  readonly queues: Pick<Queues, "queues" | "findJob" | "waitingJobs" | "ping">;
}

/** Jobs that are read of a source: those whose event the ledger has are left out. */
const READ_MAX = 200;

/** Newest first; `q` is a whole id. Null while no queue answers. @throws `database_unavailable` */
export async function listQueued(
  { ledger, queues }: Deps,
  filter: EventSearch,
): Promise<QueuedPage | null> {
  if (!canMatch(filter)) return { count: 0, events: [] };
  const sources = [...queues.queues.keys()].filter((name) => name === (filter.source ?? name));
  const readAll = () => Promise.all(sources.map((source) => readSource(queues, source, filter)));
  const pages = await queues.ping().then(readAll, () => []);
  const found = pages.flatMap((page) => page ?? []);
  if (found.length === 0 && sources.length > 0) return null;
  const jobs = found.flatMap((page) => page.jobs);
  const keys = jobs.map(({ job }) => job.event).filter((event) => event !== undefined);
  const recorded = keys.length === 0 ? [] : await ledger.repair.ledgerStatuses(keys.map(keyOf));
  const known = new Set(keys.filter((_, index) => recorded[index] !== undefined));
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    events: jobs
      .filter(({ job: { event } }) => event === undefined || !known.has(event))
      .toSorted((one, other) => other.job.enqueuedAtMs - one.job.enqueuedAtMs)
      .slice(0, filter.limit)
      .map(({ source, job }) => queuedRow(source, job)),
  };
}

function canMatch({ words = [], ...filter }: EventSearch): boolean {
  const { status, outcome, error, errors, values, body, run, until, cursor } = filter;
  const recorded = [status, outcome, error, errors, values, body, run, until, cursor];
  const isOne = words.length < 2 && filter.type?.endsWith("*") !== true;
  return isOne && recorded.every((value) => value === undefined);
}

/** One queue that fails does not hide the others. */
async function readSource(
  queues: Deps["queues"],
  source: string,
  { tenant, type, words, q: eventId = words?.[0] }: EventSearch,
) {
  try {
    const limit = eventId === undefined ? READ_MAX : 0;
    const { count, jobs } = await queues.waitingJobs(source, { type, limit });
    const start = tenant === undefined ? "" : tenantEventId(tenant, "");
    const isMeant = ({ event }: FoundJob) => event?.eventId.startsWith(start) ?? start === "";
    const meant = jobs.filter(isMeant).map((job) => ({ source, job }));
    if (eventId === undefined) return { count, jobs: meant };
    const job = await queues.findJob({ source, eventId, generation: 0 });
    const isOther = type !== undefined && job?.event?.type !== type;
    return { count, jobs: job === undefined || isOther || !isMeant(job) ? [] : [{ source, job }] };
  } catch {
    return undefined;
  }
}

/** Of a job that cannot be trusted nothing but its own id is shown. */
export function queuedRow(source: string, job: FoundJob): QueuedRow {
  const event = job.mac === undefined ? job.event : undefined;
  const problem = job.event === undefined ? "unreadable_job" : "unrecorded_job_unsigned";
  return {
    stage: "queued",
    source,
    event_id: event?.eventId ?? null,
    generation: event?.generation ?? 0,
    type: event?.type ?? null,
    unsigned: event?.unsigned ?? null,
    received_at: new Date(event?.acceptedAtMs ?? job.enqueuedAtMs).toISOString(),
    job_id: job.jobId,
    job_state: job.state,
    problem: event === undefined ? problem : null,
  };
}
