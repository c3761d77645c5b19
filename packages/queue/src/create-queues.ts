import {
  createCircuitBreaker,
  settlesWithin,
  withDeadline,
  MillraceError,
  type CircuitBreaker,
  asError,
  failpoint,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import type { Queue } from "bullmq";
import type { Backend, AddOptions, NewJob, ReplicaWait } from "./backend.ts";
import { createInspection } from "./inspect.ts";
import { queueName, jobId } from "./jobs.ts";
import type { ReportError } from "./notices.ts";
import { createPressureGauge } from "./pressure.ts";
import type { Queues, QueuesOptions, Workers } from "./queues.ts";
import { startWorkers } from "./workers.ts";

export const ENQUEUE_TIMEOUT_MS = 800;

const PING_TIMEOUT_MS = 1_000;
const CLOSE_TIMEOUT_MS = 2_000;

export function createQueues(
  backend: Backend,
  { sources, notify, enqueueTimeoutMs: timeoutMs = ENQUEUE_TIMEOUT_MS }: QueuesOptions,
  reportError: ReportError,
): Queues {
  const queues = new Map<string, Queue>();
  for (const source of sources) {
    const queue = backend.createQueue(queueName(source));
    queue.on("error", (error) => reportError(error, source));
    queues.set(source, queue);
  }
  const breaker = createCircuitBreaker(() => backend.ping());
  const gauge = createPressureGauge(
    () => backend.pressure(queues),
    () => backend.risk?.(),
  );
  let workers: Workers | undefined;
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    breaker.stop();
    gauge.close();
    await workers?.close({ timeoutMs: 0 });
    const closed = Promise.allSettled([...queues.values()].map((queue) => queue.close()));
    await settlesWithin(closed, CLOSE_TIMEOUT_MS);
    await backend.close();
  }

  return {
    backend: backend.name,
    signsJobs: backend.keys !== undefined,
    queues,
    enqueue: createEnqueue({ backend, queues, breaker, timeoutMs }),
    work: (options) => {
      if (workers !== undefined)
        throw new Error("Cannot start the workers: they are already running");
      workers = startWorkers({ backend, sources, notify, reportError, options });
      return workers;
    },
    ...createInspection(backend, queues),
    pressure: gauge.pressure,
    measurePressure: gauge.measure,
    breaker,
    ping: () => ping(backend),
    close: () => (closing ??= close()),
  };
}

async function ping(backend: Backend): Promise<void> {
  const code = backend.name === "redis" ? "redis_unreachable" : "database_unreachable";
  const late = () => new MillraceError(code, `Cannot ping: no answer in ${PING_TIMEOUT_MS} ms`);
  try {
    await withDeadline(backend.ping(), PING_TIMEOUT_MS, late);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const state = backend.unready() ?? "the server refuses";
    throw new MillraceError(code, `Cannot ping: ${state}`, { cause: error });
  }
}

interface EnqueueDeps {
  readonly backend: Backend;
  readonly queues: ReadonlyMap<string, Queue>;
  readonly breaker: CircuitBreaker;
  readonly timeoutMs: number;
}

interface Wanted extends NewJob {
  readonly indexes: number[];
}

function createEnqueue(deps: EnqueueDeps): Queues["enqueue"] {
  return async (events, options) => {
    const answers: StoreResult[] = Array.from({ length: events.length });
    const identityOnly = options?.identityOnly === true;
    // In the ledger already: to wait would stop the reconciler where a failover left no replica.
    const replicas = identityOnly ? undefined : deps.backend.waitForReplicas?.();
    const onSent = replicas?.onSent;
    const adding = { identityOnly, exact: options?.exact ?? !identityOnly, onSent, replicas };
    await Promise.all(
      [...groupBySource(events, options?.delaysMs)].map(async ([source, group]) => {
        const wanted = [...group.values()];
        giveAnswers(wanted, await addToSource(deps, source, wanted, adding), answers);
      }),
    );
    return answers;
  };
}

function groupBySource(
  events: readonly IncomingEvent[],
  delaysMs: readonly number[] | undefined,
): Map<string, Map<string, Wanted>> {
  const groups = new Map<string, Map<string, Wanted>>();
  for (const [index, event] of events.entries()) {
    let group = groups.get(event.source);
    if (group === undefined) groups.set(event.source, (group = new Map()));
    const id = jobId(event.eventId, event.generation);
    // The same id with another body is another question: the queue answers that they conflict.
    const key = `${id} ${event.bodyHash}`;
    const same = group.get(key);
    const delayMs = Math.ceil(delaysMs?.[index] ?? 0);
    if (same === undefined) group.set(key, { id, event, delayMs, indexes: [index] });
    else same.indexes.push(index);
  }
  return groups;
}

async function addToSource(
  deps: EnqueueDeps,
  source: string,
  jobs: readonly NewJob[],
  options: AddOptions & { readonly replicas: ReplicaWait | undefined },
): Promise<readonly StoreResult[]> {
  const { backend, queues, breaker, timeoutMs } = deps;
  const queue = queues.get(source);
  const away = backend.unready() ?? (breaker.isOpen ? "it does not answer" : undefined);
  if (queue === undefined || away !== undefined) {
    const error = unavailable(away ?? `no queue for source "${source}"`);
    return jobs.map(() => error);
  }
  // One deadline for all jobs of a call, also where they are tried again singly.
  const late = () => {
    breaker.trip();
    return unavailable(`no answer in ${timeoutMs} ms`);
  };
  try {
    const added = add(backend, queue, jobs, options);
    const adding = options.replicas === undefined ? added : confirm(added, options.replicas);
    const results = await withDeadline(adding, timeoutMs, late);
    return results.map((result) => inOurTerms(backend, result));
  } catch (error) {
    return jobs.map(() => asError(error));
  }
}

async function confirm(
  added: Promise<readonly StoreResult[]>,
  replicas: ReplicaWait,
): Promise<readonly StoreResult[]> {
  const results = await added;
  if (await replicas.confirmed()) return results;
  // A job that the queue had before may be as new as this call's: its sender has no answer yet.
  return results.map((result) => (result instanceof Error ? result : NOT_REPLICATED));
}

const NOT_REPLICATED = new MillraceError(
  "redis_no_replica",
  "Cannot confirm the event: no replica of Redis had it in time",
);

/** Adds jobs together; where one is at fault, each by itself, so that the others get through. */
async function add(
  backend: Backend,
  queue: Queue,
  jobs: readonly NewJob[],
  options: AddOptions,
): Promise<readonly StoreResult[]> {
  try {
    const adding = backend.add(queue, jobs, options);
    failpoint("queue.add_sent");
    return await adding;
  } catch (error) {
    if (jobs.length === 1 || !backend.isPoison(error)) return jobs.map(() => asError(error));
    const singly = await Promise.all(jobs.map((job) => add(backend, queue, [job], options)));
    // Some of the failed bulk may have been added, so a `duplicate` may be of this very call.
    return singly.flat().map((result) => (result === "duplicate" ? "accepted" : result));
  }
}

/** Separates the server's fault, which is `unavailable`, from that of one job. */
function inOurTerms(backend: Backend, result: StoreResult): StoreResult {
  if (!(result instanceof Error)) return result;
  if (result instanceof MillraceError || backend.isPoison(result)) return result;
  return unavailable(result.message, result);
}

function unavailable(state: string, cause?: Error): MillraceError {
  return new MillraceError("unavailable", `Cannot enqueue: ${state}`, { cause });
}

/** Answers each event: of several that asked for one job, the first is the new one. */
function giveAnswers(
  wanted: readonly Wanted[],
  results: readonly StoreResult[],
  answers: StoreResult[],
): void {
  wanted.forEach(({ indexes }, position) => {
    const result = results[position] ?? unavailable("the queue gave no answer");
    indexes.forEach((index, turn) => {
      answers[index] = turn > 0 && result === "accepted" ? "duplicate" : result;
    });
  });
}
