import type { EventKey, HandlerTransaction } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { pgTable, text } from "drizzle-orm/pg-core";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import {
  claim,
  openTestLedger,
  patient,
  statusOf,
  type TestLedger,
} from "../support/ledger-fixture.ts";

// Without a constraint, so that a doubled effect is seen.
const effects = pgTable("effects", { name: text("name").notNull() });

export const write = (tx: HandlerTransaction, name: string) => tx.insert(effects).values({ name });

type Work = (tx: HandlerTransaction, locked: LockedEvent) => unknown;
type LockedEvent = Parameters<Parameters<Ledger["claims"]["attempt"]>[2]>[1];

export const attemptWith = (
  ledger: Ledger,
  [event, attempt]: readonly [EventKey, attempt: number],
  work: Work,
  limits = patient(),
) => ledger.claims.attempt(keyOf(event), attempt, handlerOf(work), limits).then(kindOf);

const kindOf = ({ kind }: { readonly kind: string }) => kind;

const handlerOf = (work: Work) => async (tx: HandlerTransaction, locked: LockedEvent) => {
  await work(tx, locked);
  return "handled" as const;
};

export async function holdOpen(
  { connect }: Pick<TestLedger, "connect">,
  statement: string,
  values?: unknown[],
): Promise<() => Promise<void>> {
  const client = await connect();
  await client.query("BEGIN");
  await client.query(statement, values);
  return async () => {
    await client.query("COMMIT");
    client.release();
  };
}

export async function openAttempts() {
  const opened = await openTestLedger({ lockTimeoutMs: 300 });
  await opened.ask("CREATE TABLE effects (name text NOT NULL)");
  return {
    ...opened,
    attempt: async (work: Work, limits?: ReturnType<typeof patient>) => {
      const event = anEvent();
      const number = await claim(opened.ledger, event);
      const end = await attemptWith(opened.ledger, [event, number], work, limits).catch(errorOf);
      return { end, status: await statusOf(opened, event) };
    },
    written: async () => {
      const rows = await opened.ask<{ name: string }>("SELECT name FROM effects ORDER BY name");
      return rows.map((row) => row.name);
    },
  };
}

export type Way = (
  ledger: Ledger,
  work: (tx: HandlerTransaction) => Promise<unknown>,
) => Promise<unknown>;

const errorOf = (error: unknown) => error;

export const WAYS: Readonly<Record<"a recorded attempt" | "a first attempt", Way>> = {
  "a recorded attempt": async (ledger, work) => {
    const event = anEvent();
    return await attemptWith(ledger, [event, await claim(ledger, event)], work).catch(errorOf);
  },
  "a first attempt": async (ledger, work) => {
    const nothing = () => {};
    const limits = { ...patient(), onRecorded: nothing, onUnsafe: nothing };
    const handle = (tx: HandlerTransaction) => work(tx).then(() => "handled" as const);
    return await ledger.claims.attemptFirst(aJob(anEvent()), handle, limits).then(kindOf, errorOf);
  },
};
