import type { EventKey, EventJob } from "@millrace/core";
import {
  createLedger,
  createPool,
  migrate,
  type Ledger,
  type LedgerOptions,
} from "@millrace/ledger";
import type pg from "pg";
import { aJob, keyOf } from "./events.ts";
import { migratedDatabase } from "./scratch-database.ts";
import { until } from "./until.ts";

export type TestLedger = Awaited<ReturnType<typeof openTestLedger>>;

/**
 * A migrated ledger on a scratch database, and the test's own connections to look at its tables. With a
 * `url`, on the database that it names, which is migrated and stays.
 */
export async function openTestLedger(options: LedgerOptions & { max?: number; url?: string } = {}) {
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
    ask: async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await aside.query<Row>(text, values)).rows,
    connect: () => aside.connect(),
    close: async () => {
      await Promise.all([pool.end(), aside.end()]);
      await database.drop();
    },
  };
}

export function testPool(url: string, max = 5): pg.Pool {
  return createPool({ url, max, applicationName: "millrace-test", idleTimeoutMs: 1_000 });
}

export function patient(signal: AbortSignal = new AbortController().signal) {
  return { statementTimeoutMs: 20_000, signal };
}

export async function claim(
  ledger: Ledger,
  event: EventJob["event"],
  run?: string,
): Promise<number> {
  const [claimed] = await ledger.claims.record([aJob(event, run)]);
  if (claimed?.kind !== "claimed") throw new Error(`Cannot claim: ${JSON.stringify(claimed)}`);
  return claimed.attempt;
}

export const failure = {
  code: "handler_failed",
  message: "No such customer",
  final: false,
  counts: true,
  afterMs: 2_000,
  run: "run-1",
} as const;

export async function statusOf(test: TestLedger, event: EventKey): Promise<string | undefined> {
  const rows = await test.ask<{ status: string }>(
    "SELECT status FROM millrace.events WHERE source = $1 AND event_id = $2 AND generation = $3",
    [event.source, event.eventId, event.generation],
  );
  return rows[0]?.status;
}

export const handled = () => Promise.resolve("handled" as const);

export async function complete(
  ledger: Ledger,
  event: EventJob["event"],
  attempt?: number,
): Promise<string> {
  const number = attempt ?? (await claim(ledger, event));
  const { kind } = await ledger.claims.attempt(keyOf(event), number, handled, patient());
  return kind;
}

export async function failForGood(ledger: Ledger, event: EventJob["event"]): Promise<void> {
  const attempt = await claim(ledger, event);
  await ledger.claims.fail(keyOf(event), attempt, { ...failure, final: true });
}

export function untilBlocked({ ask }: Pick<TestLedger, "ask">, count = 1): Promise<unknown> {
  return until(async () => {
    const rows = await ask(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
    );
    return rows.length >= count;
  });
}

export async function pastTriggers(
  { connect }: Pick<TestLedger, "connect">,
  text: string,
  values: readonly (readonly unknown[])[] = [[]],
): Promise<void> {
  const client = await connect();
  try {
    await client.query("SET session_replication_role = replica");
    for (const each of values) await client.query(text, [...each]);
    await client.query("RESET session_replication_role");
  } finally {
    client.release();
  }
}
