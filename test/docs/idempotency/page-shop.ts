import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  parseConfig,
  type EventJob,
  type Handler,
  type IncomingEvent,
  type JobResult,
} from "@millrace/core";
import { createLedger } from "@millrace/ledger";
import { createProcessor, type Processor } from "@millrace/processor";
import type pg from "pg";
import { aJob, anEvent, keyOf, withoutBody } from "../../support/events.ts";
import { openTestLedger, testPool, type TestLedger } from "../../support/ledger-fixture.ts";
import { createPageProject } from "../../support/page-project.ts";
import { samplesOf } from "../../support/samples.ts";
import { until } from "../../support/until.ts";

const PAGE = fileURLToPath(new URL("../../../docs/idempotency.md", import.meta.url));

/** How two events reach two workers. */
export const CIRCUMSTANCES = ["one after the other", "in reverse order", "side by side"] as const;
export type Circumstance = (typeof CIRCUMSTANCES)[number];

/** What an event is about; it gets a new id each time it is run. */
export interface Fact {
  readonly type: string;
  readonly data: object;
}

/** The shop of docs/idempotency.md: the page's own handlers and tables, and two workers. */
export interface PageShop extends TestLedger {
  readonly handlers: readonly Handler[];
  /** Empties the tables, and runs SQL that fills them. */
  begin(fill?: string): Promise<void>;
  /** Runs two events in two workers, as the circumstance says. What is retried is run again, as the queue does. */
  run(
    circumstance: Circumstance,
    handlers: readonly Handler[],
    facts: Pair<Fact>,
  ): Promise<Pair<JobResult>>;
  /** Runs one event, and then replays it. */
  replay(handlers: readonly Handler[], fact: Fact): Promise<void>;
  /** Two workers for a test that runs events by itself. They end with the shop. */
  startWorkers(handlers: readonly Handler[]): Pair<Processor>;
  /** How many transactions wait for another one's lock. */
  lockWaits(): Promise<number>;
}

export type Pair<T> = readonly [T, T];

/** The page's samples as files of a project, and what they export. */
export async function loadPage() {
  const files = samplesOf(await readFile(PAGE, "utf8"));
  const project = await createPageProject(files);
  const load = async (name: string) => await import(/* @vite-ignore */ join(project.folder, name));
  return { ...project, files, load };
}

export async function openPageShop(): Promise<PageShop> {
  const page = await loadPage();
  const ofPage: readonly Handler[] = (await page.load("handlers/index.ts")).default;
  const config = parseConfig((await page.load("millrace.config.ts")).default);
  const test = await openTestLedger();
  await test.ask(page.files.get("migrations/0001_shop.sql") ?? "");
  const tables = await test.ask<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  // To truncate a table takes longer than to delete its few rows.
  const empty = tables.map(({ name }) => `delete from ${name};`).join(" ");
  const pools = [testPool(test.url), testPool(test.url)] as const;

  const started: Processor[] = [];
  function startWorkers(handlers: readonly Handler[], second = handlers): Pair<Processor> {
    const start = (pool: pg.Pool, own: readonly Handler[]) => {
      const ledger = createLedger({ pool }, config.worker).claims;
      const deps = { ledger, handlers: own, sources: config.sources };
      const worker = createProcessor(deps, config.worker);
      started.push(worker);
      return worker;
    };
    return [start(pools[0], handlers), start(pools[1], second)];
  }

  async function inTurn(handlers: readonly Handler[], facts: Pair<Fact>): Promise<Pair<JobResult>> {
    const workers = startWorkers(handlers);
    const [first, second] = pairOf(facts.map(jobOf));
    const one = await workers[0].process(first);
    const other = await workers[1].process(second);
    return [await retried(workers[0], first, one), await retried(workers[1], second, other)];
  }

  /** The second event's handler begins when the first's has done its writes and not yet committed. */
  async function sideBySide(
    handlers: readonly Handler[],
    facts: Pair<Fact>,
  ): Promise<Pair<JobResult>> {
    const written = signal();
    const goOn = signal();
    const held = handlers.map((handler) => ({
      ...handler,
      write: async (...given: Parameters<NonNullable<Handler["write"]>>) => {
        await handler.write?.(...given);
        written.resolve();
        await goOn.reached;
      },
    }));
    const workers = startWorkers(held, handlers);
    const [first, second] = pairOf(facts.map(jobOf));
    const one = workers[0].process(first);
    await Promise.race([written.reached, one]);
    let ended = false;
    const other = workers[1].process(second).finally(() => (ended = true));
    // It has to wait for the first one's locks, or has gone past them.
    await until(async () => ended || (await lockWaits()) > 0);
    goOn.resolve();
    return [await one, await retried(workers[1], second, await other)];
  }

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
    run: async (circumstance, given, [first, second]) => {
      if (circumstance === "side by side") return await sideBySide(given, [first, second]);
      if (circumstance === "one after the other") return await inTurn(given, [first, second]);
      return await inTurn(given, [second, first]);
    },
    replay: async (given, fact) => {
      const workers = startWorkers(given);
      const job = jobOf(fact);
      await workers[0].process(job);
      const { source, eventId } = keyOf(job.event);
      await test.ledger.retries.replay([{ source, eventId }]);
      const replayed = { ...withoutBody(job.event), generation: 1 };
      await workers[1].process(aJob(replayed));
    },
    startWorkers: (given) => startWorkers(given),
    lockWaits,
    close: async () => {
      await Promise.all(started.map((worker) => worker.close()));
      await Promise.all(pools.map((pool) => pool.end()));
      await test.close();
      (await page.load("handlers/alerts.ts")).redis.disconnect();
      await page.remove();
    },
  };
}

/** A job of a new event. */
export function jobOf({ type, data }: Fact): EventJob & { readonly event: IncomingEvent } {
  const body = Buffer.from(JSON.stringify({ type, data }));
  const event = anEvent({ type, body });
  return { ...aJob(event), event };
}

/** Runs a job again while its event is to be retried, as the queue does. */
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

function pairOf<T>([first, second]: readonly T[]): Pair<T> {
  if (first === undefined || second === undefined) throw new Error("Cannot make a pair of one");
  return [first, second];
}

/** A promise that somebody else resolves. */
export function signal() {
  let resolve = () => {};
  const reached = new Promise<void>((done) => (resolve = done));
  return { reached, resolve };
}
