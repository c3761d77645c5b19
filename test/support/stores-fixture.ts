import {
  on,
  parseConfig,
  type HandlerFunction,
  type IncomingEvent,
  type JobResult,
} from "@millrace/core";
import { standardWebhooks } from "millrace";
import { openOn, type TestServers } from "./backends.ts";
import { openTestLedger } from "./ledger-fixture.ts";
import { openForAll } from "./open-for.ts";
import { COMPLETED, event, openTestQueues, workOn } from "./queue-fixture.ts";
import { until } from "./until.ts";
import { startWorker } from "./worker.ts";

export type TestStores = Awaited<ReturnType<typeof openTestStores>>;

const policy = { attempts: 1, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };

export const STORES_CONFIG = {
  sources: {
    acme: standardWebhooks({ ...policy, find: ["json:data.customer"] }),
    patient: standardWebhooks(policy),
  },
  worker: {
    ...{ concurrency: 4, handlerTimeoutMs: 10_000, shutdownTimeoutMs: 5_000 },
    ...{ lockDurationMs: 1_000, stalledIntervalMs: 500 },
  },
};
const config = parseConfig(STORES_CONFIG);
const SOURCES = Object.keys(config.sources);

export const key = (eventId: string) => ({ source: "acme", eventId, generation: 0 });

export function useStores(prepare: () => Promise<TestServers>): TestStores {
  return openForAll(async () => openTestStores(await prepare()));
}

/**
 * A ledger and queues of sources `acme` and `patient`, with workers for as long as a test wants one, on
 * servers that are released when they are closed.
 */
export function openTestStores(servers: TestServers) {
  return openOn(servers, () => openStores(servers));
}

async function openStores(servers: TestServers) {
  const test = await openTestLedger({ url: servers.databaseUrl, max: 12 });
  const { ledger } = test;
  const queues = await openTestQueues(servers, "dashboard", SOURCES);

  const take = async (eventId: string, over: Partial<IncomingEvent> = {}) => {
    const incoming = event(eventId, over);
    const identityOnly = queues.backend === "postgres";
    if (identityOnly) await ledger.intake.accept([incoming]);
    const [result] = await queues.enqueue([incoming], { identityOnly });
    if (result !== "accepted") throw new Error(`Cannot take ${eventId}: ${String(result)}`);
  };
  const work = async (
    run: HandlerFunction,
    during: () => Promise<unknown>,
    beforeReport?: () => Promise<void>,
  ) => {
    const handlers = SOURCES.map((source) => on(source, "*", run));
    const worker = await startWorker(servers, config, handlers, beforeReport);
    try {
      await during();
    } finally {
      await worker.close();
    }
  };
  const runUntil = async (isDone: () => Promise<boolean>): Promise<string[]> => {
    const ran: string[] = [];
    await work(
      ({ id }) => void ran.push(id),
      () => until(isDone),
    );
    return ran;
  };
  const job = (eventId: string) => queues.findJob(key(eventId));
  const row = async (eventId: string) => (await ledger.reads.findEvent(key(eventId)))?.event;

  return {
    ...test,
    servers,
    queues,
    take,
    work,
    workBlindly: async (during: () => Promise<unknown>, settlement: JobResult = COMPLETED) => {
      const own = await openTestQueues(servers, "worker", SOURCES);
      workOn(own, () => settlement, { worker: config.worker, concurrency: () => 4 });
      try {
        await during();
      } finally {
        await own.close();
      }
    },
    fail: async (eventId: string, over?: Partial<IncomingEvent>) => {
      await take(eventId, over);
      const broken = () => {
        throw new Error("the switch is off");
      };
      await work(broken, () => until(async () => (await job(eventId))?.state === "failed"));
    },
    runUntil,
    /** Runs all that is pending, and gives the IDs in order. */
    completeAll: async (): Promise<string[]> => {
      const pending = () => test.ask("SELECT FROM millrace.events WHERE status = 'pending'");
      return (await runUntil(async () => (await pending()).length === 0)).toSorted();
    },
    /** Runs what is pending until an event has completed, and gives the IDs of all that ran. */
    runUntilCompleted: (eventId: string) =>
      runUntil(async () => (await row(eventId))?.status === "completed"),
    row,
    job,
    close: async () => {
      await queues.close();
      await test.close();
      await servers.release();
    },
  };
}
