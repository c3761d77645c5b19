import { openWorker } from "@millrace/connect";
import { on, parseConfig, type Handler, type IncomingEvent, type OnFailed } from "@millrace/core";
import type { Queues } from "@millrace/queue";
import type { Logger } from "@millrace/service";
import { createWorkerRole } from "@millrace/worker";
import { sql } from "drizzle-orm";
import { plainProvider } from "../intake/plain-provider.ts";
import { openOn, type TestServers } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { seenEvents } from "../support/seen-events.ts";
import { environmentOf, type ServerUrls } from "../support/server-urls.ts";
import { startWorker, type StartedWorker } from "../support/worker.ts";

const POLICY = { attempts: 3, backoff: { firstMs: 10, factor: 1, maxMs: 10 } };

export function shopConfig(
  handlers: readonly Handler[],
  worker: Record<string, number> = {},
  sources: Record<string, unknown> = {},
) {
  return parseConfig({
    sources: { shop: { provider: plainProvider(), options: POLICY }, ...sources },
    handlers,
    worker: { lockDurationMs: 3_000, stalledIntervalMs: 1_000, ...worker },
  });
}

export function openTestWorkers(servers: TestServers) {
  return openOn(servers, () => openWorkers(servers));
}

async function openWorkers(servers: TestServers) {
  const test = await openTestLedger({ url: servers.databaseUrl, max: 30 });
  await test.ask("create table effects (event_id text)");
  const queues = await openTestQueues(servers, "worker", ["shop", "mail"]);
  const started: StartedWorker[] = [];
  return {
    ...test,
    ...seenEvents(test.pool),
    queues,
    work: async (
      handlers: readonly Handler[],
      options: Record<string, number> = {},
      more: { onFailed?: OnFailed; sources?: Record<string, unknown> } = {},
    ) => {
      const { onFailed, sources } = more;
      const config = { ...shopConfig(handlers, options, sources), onFailed };
      const worker = await startWorker(servers, config, handlers);
      started.push(worker);
      return worker;
    },
    close: async () => {
      await Promise.all(started.map((each) => each.close()));
      await queues.close();
      await test.close();
      await servers.release();
    },
  };
}

export type TestRole = ReturnType<typeof createTestRole>;

export function createTestRole(
  urls: ServerUrls,
  given: {
    concurrency?: number;
    onQueues?: (queues: Queues) => void;
  } = {},
) {
  const lines: { level: string; message: string; cause?: string }[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ ...fields, level, message });
  const logger = { debug: () => {}, info: at("info"), warn: at("warn"), error: at("error") };
  const { concurrency = 2, onQueues } = given;
  const config = shopConfig([effect], { concurrency, shutdownTimeoutMs: 500 });
  const role = createWorkerRole({
    config,
    handlers: [effect],
    groups: true,
    logger: logger as unknown as Logger,
    openStores: (watch) => {
      const opening = openWorker(environmentOf(urls), config, watch);
      const opened = opening.opened.then((stores) => {
        onQueues?.(stores.queues);
        return stores;
      });
      return { ...opening, opened };
    },
  });
  return { role, lines };
}

export function makeEvent(given: Partial<IncomingEvent> = {}): IncomingEvent {
  return anEvent({ type: "order.created", body: Buffer.from('{"n":1}'), ...given });
}

export const effect = on("shop", "*", async (event, { tx }) => {
  await tx.execute(sql`insert into effects values (${event.id})`);
});
