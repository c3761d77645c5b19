import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  parseConfig,
  type EventJob,
  type Handler,
  type HandlerTransaction,
  type IncomingEvent,
  type JobResult,
} from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { createProcessor, type Processor } from "@millrace/processor";
import type pg from "pg";
import { aJob, anEvent, keyOf, withoutBody } from "../../support/events.ts";
import { openTestLedger, testPool } from "../../support/ledger-fixture.ts";
import { createPageProject } from "../../support/page-project.ts";
import { samplesOf } from "../../support/samples.ts";
import { until } from "../../support/until.ts";

const PAGE = fileURLToPath(new URL("../../../docs/idempotency.md", import.meta.url));

export const CIRCUMSTANCES = ["one after the other", "in reverse order", "side by side"] as const;
export type Circumstance = (typeof CIRCUMSTANCES)[number];

export interface Fact {
  readonly type: string;
  readonly data: object;
}

export type PageShop = Awaited<ReturnType<typeof openPageShop>>;

export type Pair<T> = readonly [T, T];

export async function openPageShop() {
  const files = samplesOf(await readFile(PAGE, "utf8"));
  const page = await createPageProject(files);
  const load = async (name: string) => await import(/* @vite-ignore */ join(page.folder, name));
  const ofPage: readonly Handler[] = (await load("handlers/index.ts")).default;
  const config = parseConfig((await load("millrace.config.ts")).default);
  const test = await openTestLedger();
  await test.ask(files.get("migrations/0001_shop.sql") ?? "");
  const tables = await test.ask<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  // To truncate a table takes longer than to delete its few rows.
  const empty = tables.map(({ name }) => `delete from ${name};`).join(" ");
  const pools = [testPool(test.url), testPool(test.url)] as const;

  const started: Processor[] = [];
  const startWorkers = (handlers: readonly Handler[], second = handlers): Pair<Processor> => {
    const start = (pool: pg.Pool, own: readonly Handler[]) => {
      const ledger = createLedger({ pool }, config.worker).claims;
      const deps = { ledger, handlers: own, sources: config.sources };
      const worker = createProcessor(deps, config.worker);
      started.push(worker);
      return worker;
    };
    return [start(pools[0], handlers), start(pools[1], second)];
  };
  const lockWaits = async () => {
    const waiting = await test.ask(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return waiting.length;
  };

  return {
    ...test,
    handlers: ofPage,
    begin: async (fill = "") => void (await test.ask(`${empty} ${fill}`)),
    run: async (
      circumstance: Circumstance,
      handlers: readonly Handler[],
      given: Pair<Fact>,
    ): Promise<Pair<JobResult>> => {
      const facts = circumstance === "in reverse order" ? given.toReversed() : given;
      const [first, second] = facts.map(jobOf) as [EventJob, EventJob];
      if (circumstance !== "side by side") {
        const [worker, next] = startWorkers(handlers);
        const one = await worker.process(first);
        const other = await next.process(second);
        return [await retried(worker, first, one), await retried(next, second, other)];
      }
      const { held, written, goOn } = holding(handlers);
      const [worker, next] = startWorkers(held, handlers);
      const one = worker.process(first);
      await Promise.race([written, one]);
      let ended = false;
      const other = next.process(second).finally(() => (ended = true));
      // It has to wait for the first one's locks, or has gone past them.
      await until(async () => ended || (await lockWaits()) > 0);
      goOn();
      return [await one, await retried(next, second, await other)];
    },
    replay: async (given: readonly Handler[], fact: Fact) => {
      const workers = startWorkers(given);
      const job = jobOf(fact);
      await workers[0].process(job);
      const { source, eventId } = keyOf(job.event);
      await test.ledger.retries.replay([{ source, eventId }]);
      await workers[1].process(aJob({ ...withoutBody(job.event), generation: 1 }));
    },
    startWorkers,
    lockWaits,
    close: async () => {
      await Promise.all(started.map((worker) => worker.close()));
      await Promise.all(pools.map((pool) => pool.end()));
      await test.close();
      (await load("handlers/alerts.ts")).redis.disconnect();
      await page.remove();
    },
  };
}

export function holding(
  handlers: readonly Handler[],
  look: (tx: HandlerTransaction) => Promise<void> = async () => {},
) {
  let [isWritten, goOn] = [() => {}, () => {}];
  const written = new Promise<void>((resolve) => (isWritten = resolve));
  const released = new Promise<void>((resolve) => (goOn = resolve));
  const held = handlers.map((handler) => ({
    ...handler,
    write: async (...given: Parameters<NonNullable<Handler["write"]>>) => {
      await handler.write?.(...given);
      await look(given[1].tx);
      isWritten();
      await released;
    },
  }));
  return { held, written, goOn };
}

export function jobOf({ type, data }: Fact): EventJob & { readonly event: IncomingEvent } {
  const event = anEvent({ type, body: Buffer.from(JSON.stringify({ type, data })) });
  return { ...aJob(event), event };
}

export async function retried(
  worker: Processor,
  job: EventJob,
  first: JobResult,
): Promise<JobResult> {
  let result = first;
  for (let round = 2; result.kind === "retry" && round <= 3; round += 1) {
    result = await worker.process({ ...job, run: `run-${round}` });
  }
  return result;
}
