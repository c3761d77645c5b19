import type { HandlerTransaction } from "@millrace/core";
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

/** A ledger and a table that handlers write to. */
export interface TestAttempts extends TestLedger {
  /** Runs one attempt of a new event, and says how it ended. */
  attempt(
    work: (tx: HandlerTransaction) => Promise<unknown>,
    limits?: ReturnType<typeof patient>,
  ): Promise<{ end: unknown; status: string | undefined }>;
  /** What handlers have written and committed. */
  written(): Promise<string[]>;
}

export async function openAttempts(): Promise<TestAttempts> {
  const opened = await openTestLedger({ lockTimeoutMs: 300 });
  await opened.ask("CREATE TABLE effects (name text NOT NULL)");
  return {
    ...opened,
    attempt: async (work, limits = patient()) => {
      const event = anEvent();
      const number = await claim(opened.ledger, event);
      const handle = async (tx: HandlerTransaction) => {
        await work(tx);
        return "handled" as const;
      };
      const end = await opened.ledger.claims
        .attempt(keyOf(event), number, handle, limits)
        .catch((error: unknown) => error);
      return { end, status: await statusOf(opened, event) };
    },
    written: async () => {
      const rows = await opened.ask<{ name: string }>("SELECT name FROM effects ORDER BY name");
      return rows.map((row) => row.name);
    },
  };
}

type Work = (tx: HandlerTransaction) => Promise<unknown>;
/** Attempts a new event; gives how that ended, or its error. */
export type Way = (ledger: Ledger, work: Work) => Promise<unknown>;

const handleBy = (work: Work) => (tx: HandlerTransaction) =>
  work(tx).then(() => "handled" as const);
const errorOf = (error: unknown) => error;

/** The two ways in which an event is attempted alone. */
export const WAYS: Readonly<Record<"a recorded attempt" | "a first attempt", Way>> = {
  "a recorded attempt": async (ledger, work) => {
    const event = anEvent();
    const number = await claim(ledger, event);
    const attempt = ledger.claims.attempt(keyOf(event), number, handleBy(work), patient());
    return await attempt.catch(errorOf);
  },
  "a first attempt": async (ledger, work) => {
    const nothing = () => {};
    const limits = { ...patient(), bodyDedup: false, onRecorded: nothing, onUnsafe: nothing };
    const attempt = ledger.claims.attemptFirst(aJob(anEvent()), handleBy(work), limits);
    return await attempt.catch(errorOf);
  },
};
