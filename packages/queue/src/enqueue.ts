import {
  failpoint,
  within,
  MillraceError,
  toEnvelope,
  type Envelope,
  type Gate,
  type IncomingEvent,
  type Placement,
} from "@millrace/core";
import type { Queue } from "bullmq";
import type { AddOptions, Backend, NewJob } from "./backend.ts";
import { jobId } from "./job-id.ts";
import type { Queues } from "./queues.ts";
import { asError } from "./trouble.ts";

interface Deps {
  readonly backend: Backend;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly gate: Gate;
  /** Milliseconds within which every event of a call has its answer. */
  readonly timeoutMs: number;
}

/** A job that is added once in this call, and everyone in the call who asked for it. */
interface Wanted {
  readonly job: NewJob;
  readonly indexes: number[];
}

/** Adds events to their sources' queues; see {@link Queues.enqueue}. */
export function createEnqueue(deps: Deps): Queues["enqueue"] {
  return async (events, options) => {
    const answers: Placement[] = Array.from({ length: events.length });
    const identityOnly = options?.identityOnly === true;
    // Who enqueues identities has mostly asked the ledger before, which knows better.
    const exact = options?.exact ?? !identityOnly;
    await Promise.all(
      [...groupBySource(events, identityOnly)].map(async ([source, group]) => {
        const wanted = [...group.values()];
        const jobs = wanted.map(({ job }) => job);
        spread(wanted, await placeOnSource(deps, source, jobs, { exact }), answers);
      }),
    );
    return answers;
  };
}

async function placeOnSource(
  deps: Deps,
  source: string,
  jobs: readonly NewJob[],
  options: AddOptions,
): Promise<readonly Placement[]> {
  const queue = deps.queues.get(source);
  const refusal = queue === undefined ? `no queue for source "${source}"` : unready(deps);
  if (queue === undefined || refusal !== undefined) {
    const error = unavailable(refusal ?? "");
    return jobs.map(() => error);
  }
  // The jobs of a call share one fate in time, also where they are tried again singly.
  const late = () => {
    deps.gate.trip();
    return unavailable(`no answer in ${deps.timeoutMs} ms`);
  };
  try {
    const placed = await within(place(deps.backend, queue, jobs, options), deps.timeoutMs, late);
    return placed.some(isError) ? placed.map((answer) => inOurTerms(deps.backend, answer)) : placed;
  } catch (error) {
    return jobs.map(() => asError(error));
  }
}

const isError = (answer: Placement): answer is Error => answer instanceof Error;

/** Tells the server's fault, which is `unavailable`, from that of one job. */
function inOurTerms(backend: Backend, answer: Placement): Placement {
  if (!isError(answer) || answer instanceof MillraceError || backend.isPoison(answer))
    return answer;
  return unavailable(answer.message, answer);
}

async function place(
  backend: Backend,
  queue: Queue,
  jobs: readonly NewJob[],
  options: AddOptions,
): Promise<readonly Placement[]> {
  try {
    const adding = backend.add(queue, jobs, options);
    failpoint("queue.add_sent");
    return await adding;
  } catch (error) {
    if (jobs.length === 1 || !backend.isPoison(error)) return jobs.map(() => asError(error));
    const singly = await Promise.all(jobs.map((job) => place(backend, queue, [job], options)));
    // Some of the failed bulk may have been added, so `duplicate` may be our own doing here.
    return singly.flat().map((answer) => (answer === "duplicate" ? "accepted" : answer));
  }
}

function unready(deps: Deps): string | undefined {
  return deps.backend.unready() ?? (deps.gate.shut ? "it does not answer" : undefined);
}

function unavailable(state: string, cause?: Error): MillraceError {
  return new MillraceError("unavailable", `Cannot enqueue: ${state}`, { cause });
}

function groupBySource(
  events: readonly IncomingEvent[],
  identityOnly: boolean,
): Map<string, Map<string, Wanted>> {
  const groups = new Map<string, Map<string, Wanted>>();
  events.forEach((event, index) => {
    const group = groups.get(event.source) ?? new Map<string, Wanted>();
    groups.set(event.source, group);
    const id = jobId(event.eventId, event.generation);
    // The same id with another body is another question: the queue tells that they conflict.
    const key = `${id} ${event.bodyHash}`;
    const same = group.get(key);
    if (same !== undefined) same.indexes.push(index);
    else group.set(key, { job: newJob(id, toEnvelope(event, { identityOnly })), indexes: [index] });
  });
  return groups;
}

function newJob(id: string, data: Envelope): NewJob {
  return { id, name: data.type, data };
}

/** Gives each event of the call its answer: of several with one id, the first is the new one. */
function spread(
  wanted: readonly Wanted[],
  placed: readonly Placement[],
  answers: Placement[],
): void {
  wanted.forEach(({ indexes }, position) => {
    const answer = placed[position] ?? unavailable("the queue gave no answer");
    indexes.forEach((index, turn) => {
      answers[index] = turn > 0 && answer === "accepted" ? "duplicate" : answer;
    });
  });
}
