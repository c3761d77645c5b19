import {
  createCircuitBreaker,
  settlesWithin,
  withDeadline,
  MillraceError,
  type CircuitBreaker,
} from "@millrace/core";
import type { Queue } from "bullmq";
import type { Backend, QueueServer } from "./backend.ts";
import { createEnqueue, type Route } from "./enqueue.ts";
import { createInspection } from "./inspect.ts";
import { queueName } from "./names.ts";
import type { Notify, ReportError } from "./notices.ts";
import { createPressureGauge } from "./pressure.ts";
import type { Queues, Workers } from "./queues.ts";
import { startWorkers } from "./workers.ts";

interface Deps {
  readonly backend: Backend;
  readonly sources: readonly string[];
  readonly notify: Notify;
  readonly reportError: ReportError;
  readonly enqueueTimeoutMs: number;
}

/** The default of `enqueueTimeoutMs`. */
export const ENQUEUE_TIMEOUT_MS = 800;

const PING_TIMEOUT_MS = 1_000;
const CLOSE_TIMEOUT_MS = 2_000;

/** The queues of a process over a backend: what is the same on Redis and on Postgres. */
export function createQueues(deps: Deps): Queues {
  const { backend } = deps;
  const queues = new Map<string, Queue>();
  for (const source of deps.sources) {
    const queue = backend.createQueue(queueName(source));
    queue.on("error", (error) => deps.reportError(error, source));
    queues.set(source, queue);
  }
  const breakers = new Map<QueueServer, CircuitBreaker>();
  const routes = new Map<string, Route>();
  for (const [source, queue] of queues) {
    const server = backend.serverOf(queue);
    const breaker = breakers.get(server) ?? createCircuitBreaker(() => server.ping());
    breakers.set(server, breaker);
    routes.set(source, { queue, server, breaker });
  }
  const gauge = createPressureGauge(
    () => backend.pressure(queues),
    () => backend.risk?.(),
  );
  let workers: Workers | undefined;
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    for (const breaker of breakers.values()) breaker.stop();
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
    enqueue: createEnqueue({ backend, routes, timeoutMs: deps.enqueueTimeoutMs }),
    work: (options) => {
      if (workers !== undefined)
        throw new Error("Cannot start the workers: they are already running");
      workers = startWorkers({ ...deps, options });
      return workers;
    },
    ...createInspection(backend, queues),
    pressure: gauge.pressure,
    measurePressure: gauge.measure,
    breakerOf: (source) => routes.get(source)?.breaker ?? NO_QUEUE,
    ping: async () => {
      await Promise.all([...breakers.keys()].map((server) => ping(backend, server)));
    },
    close: () => (closing ??= close()),
  };
}

/** Nothing is sent to a queue that is not there. */
const NO_QUEUE = { isOpen: true, trip: () => {} };

async function ping(backend: Backend, server: QueueServer): Promise<void> {
  const code = backend.name === "redis" ? "redis_unreachable" : "database_unreachable";
  const late = () => new MillraceError(code, `Cannot ping: no answer in ${PING_TIMEOUT_MS} ms`);
  try {
    await withDeadline(server.ping(), PING_TIMEOUT_MS, late);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const state = server.unready() ?? "the server refuses";
    throw new MillraceError(code, `Cannot ping: ${state}`, { cause: error });
  }
}
