import { randomUUID } from "node:crypto";
import { bodyHash, type EventKey, type IncomingEvent, type EventJob } from "@millrace/core";
import {
  createLedger,
  createPool,
  migrate,
  type Ledger,
  type LedgerOptions,
} from "@millrace/ledger";
import type pg from "pg";
import { migratedDatabase } from "../support/scratch-database.ts";

/** A migrated ledger on a database of the test's own, and a second way in for a look at it. */
export interface TestLedger {
  readonly url: string;
  readonly ledger: Ledger;
  /** The ledger's own pool. */
  readonly pool: pg.Pool;
  /** Asks over connections that the ledger does not have. */
  ask<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** A connection of its own, for a transaction that a test holds open. */
  connect(): Promise<pg.PoolClient>;
  close(): Promise<void>;
}

export async function openLedger(
  options: LedgerOptions & { max?: number; url?: string } = {},
): Promise<TestLedger> {
  const database =
    options.url === undefined
      ? await migratedDatabase()
      : { url: options.url, drop: () => Promise.resolve() };
  const pool = testPool(database.url, options.max ?? 5);
  const aside = testPool(database.url, 5);
  if (options.url !== undefined) await migrate({ pool: aside });
  return {
    url: database.url,
    ledger: createLedger({ pool }, options),
    pool,
    ask: async (text, values) => (await aside.query(text, values)).rows,
    connect: () => aside.connect(),
    close: async () => {
      await Promise.all([pool.end(), aside.end()]);
      await database.drop();
    },
  };
}

export function testPool(url: string, max = 5): pg.Pool {
  return createPool({ url, max, applicationName: "millrace-test" });
}

/** An event with a small JSON body. */
export function anEvent(over: Partial<IncomingEvent> = {}): IncomingEvent {
  const eventId = over.eventId ?? `evt_${randomUUID()}`;
  const body = over.body ?? Buffer.from(JSON.stringify({ id: eventId, amount: 4200 }));
  return {
    source: "shop",
    eventId,
    generation: 0,
    type: "order.paid",
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: { "content-type": "application/json" },
    unsigned: false,
    body,
    ...over,
  };
}

/** A job of an event; `run` is the queue's name for this run of it. */
export function aJob(event: EventJob["event"], run = "run-1"): EventJob {
  return { event, run, enqueuedAtMs: Date.now(), signal: new AbortController().signal };
}

/** A job that leaves the body to the ledger. */
export function withoutBody(event: IncomingEvent): EventJob["event"] {
  return { ...event, headers: {}, body: undefined };
}

export function keyOf({ source, eventId, generation }: EventKey): EventKey {
  return { source, eventId, generation };
}

/** Limits of an attempt that nothing stops. */
export function patient(signal: AbortSignal = new AbortController().signal) {
  return { statementTimeoutMs: 20_000, signal };
}

/** Claims an event that is new or pending and returns its fence. */
export async function claim(
  ledger: Ledger,
  event: EventJob["event"],
  run?: string,
): Promise<number> {
  const [claimed] = await ledger.claims.record([aJob(event, run)]);
  if (claimed?.kind !== "claimed") throw new Error(`Cannot claim: ${JSON.stringify(claimed)}`);
  return claimed.attempt;
}

/** A failure as the processor records it. */
export const failure = {
  code: "handler_failed",
  message: "No such customer",
  final: false,
  counts: true,
  run: "run-1",
} as const;

export async function statusOf(test: TestLedger, event: EventKey): Promise<string | undefined> {
  const rows = await test.ask<{ status: string }>(
    "SELECT status FROM millrace.events WHERE source = $1 AND event_id = $2 AND generation = $3",
    [event.source, event.eventId, event.generation],
  );
  return rows[0]?.status;
}
