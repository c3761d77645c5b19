import type { EventKey, HandlerTransaction, IncomingEvent } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { pgTable, text } from "drizzle-orm/pg-core";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import { claim, handled, openTestLedger, patient } from "../support/ledger-fixture.ts";

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

export async function openAttempts() {
  const opened = await openTestLedger({ lockTimeoutMs: 300 });
  await opened.ask("CREATE TABLE effects (name text NOT NULL)");
  return {
    ...opened,
    attempt: async (work: Work, limits?: ReturnType<typeof patient>) => {
      const event = anEvent();
      const number = await opened.claim(event);
      const end = await attemptWith(opened.ledger, [event, number], work, limits).catch(errorOf);
      return { end, status: await opened.statusOf(event) };
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
  "a first attempt": (ledger, work) =>
    attemptFirst(ledger, anEvent(), (tx) => work(tx).then(handled)).then(kindOf, errorOf),
};

export function attemptFirst(
  ledger: Ledger,
  event: IncomingEvent,
  run: (tx: HandlerTransaction) => Promise<"handled"> = handled,
) {
  const limits = { ...patient(), onRecorded: () => {}, onUnsafe: () => {} };
  return ledger.claims.attemptFirst(aJob(event), run, limits);
}

export function attemptGroup(ledger: Ledger, events: readonly IncomingEvent[]) {
  const units = events.map((event) => {
    return { members: [event], run: handled, sendsOneQuery: false, abort: () => {} };
  });
  const { signal: stop } = new AbortController();
  const limits = { lockTimeoutMs: 1_000, statementTimeoutMs: 5_000, patienceMs: 5_000, ahead: 0 };
  return ledger.claims.attemptGroup(units, { ...limits, hasSavepoints: true, stop });
}
