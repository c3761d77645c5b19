import type { EventKey, EventJob } from "@millrace/core";
import {
  createLedger,
  createPool,
  migrate,
  type Ledger,
  type LedgerOptions,
} from "@millrace/ledger";
import pg from "pg";
import { vi } from "vitest";
import { aJob, keyOf } from "./events.ts";
import { openForAll } from "./open-for.ts";
import { migratedDatabase } from "./scratch-database.ts";
import { until } from "./until.ts";

export type TestLedger = Awaited<ReturnType<typeof openTestLedger>>;

type TestLedgerOptions = LedgerOptions & { max?: number; url?: string };
type Event = EventJob["event"];

export function useLedger(options?: TestLedgerOptions): TestLedger {
  return openForAll(() => openTestLedger(options));
}

/**
 * A migrated ledger on a scratch database, and the test's own connections to look at its tables. With a
 * `url`, on the database that it names, which is migrated and stays.
 */
export async function openTestLedger(options: TestLedgerOptions = {}) {
  const database =
    options.url === undefined
      ? await migratedDatabase()
      : { url: options.url, drop: () => Promise.resolve() };
  const pool = testPool(database.url, options.max ?? 5);
  const aside = testPool(database.url, 5);
  if (options.url !== undefined) await migrate({ pool: aside });
  const ledger = createLedger({ pool }, options);
  const ask = async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
    (await aside.query<Row>(text, values)).rows;
  return {
    url: database.url,
    ledger,
    pool,
    ask,
    connect: () => aside.connect(),
    claim: (event: Event, run?: string) => claim(ledger, event, run),
    complete: async (event: Event, attempt?: number): Promise<string> => {
      const number = attempt ?? (await claim(ledger, event));
      const { kind } = await ledger.claims.attempt(keyOf(event), number, handled, patient());
      return kind;
    },
    failForGood: async (event: Event): Promise<void> => {
      const attempt = await claim(ledger, event);
      await ledger.claims.fail(keyOf(event), attempt, { ...failure, final: true });
    },
    statusOf: async (event: EventKey): Promise<string | undefined> => {
      const rows = await ask<{ status: string }>(
        "SELECT status FROM millrace.events WHERE source = $1 AND event_id = $2 AND generation = $3",
        [event.source, event.eventId, event.generation],
      );
      return rows[0]?.status;
    },
    /** Begins a transaction with a statement, and gives what commits it. */
    holdOpen: async (statement: string, values?: unknown[]): Promise<() => Promise<void>> => {
      const client = await aside.connect();
      await client.query("BEGIN");
      await client.query(statement, values);
      return async () => {
        await client.query("COMMIT");
        client.release();
      };
    },
    untilBlocked: (count = 1): Promise<unknown> =>
      until(async () => {
        const rows = await ask(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
        );
        return rows.length >= count;
      }),
    pastTriggers: async (
      text: string,
      values: readonly (readonly unknown[])[] = [[]],
    ): Promise<void> => {
      const client = await aside.connect();
      try {
        await client.query("SET session_replication_role = replica");
        for (const each of values) await client.query(text, [...each]);
        await client.query("RESET session_replication_role");
      } finally {
        client.release();
      }
    },
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

/** The statements that a call sends to Postgres, by the messages in which it sends them. */
export async function messagesOf(call: () => Promise<unknown>) {
  const asked = vi.spyOn(pg.Client.prototype, "query");
  try {
    await call();
    return asked.mock.calls.map(([query, values]) => {
      const given = Array.isArray(values) ? (values as unknown[]) : [];
      if (typeof query === "string") return [{ text: query, values: given }];
      const one = query as unknown as pg.QueryConfig;
      const { statements = [one] } = query as unknown as { statements?: pg.QueryConfig[] };
      return statements.map(({ text, values: own }) => ({ text, values: own ?? given }));
    });
  } finally {
    asked.mockRestore();
  }
}

export async function claim(ledger: Ledger, event: Event, run?: string): Promise<number> {
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

export const handled = () => Promise.resolve("handled" as const);
