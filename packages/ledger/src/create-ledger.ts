import type pg from "pg";
import { claims } from "./claims/index.ts";
import { bind, type Methods } from "./connection/bind.ts";
import {
  createContext,
  type LedgerContext,
  type LedgerOptions,
} from "./connection/ledger-context.ts";
import { intake } from "./intake/index.ts";
import { audit, bulkRuns, bulkWork, errors, retries, sessions } from "./people/index.ts";
import { reads } from "./reads/index.ts";
import { repair } from "./repair/index.ts";

/** One part for each kind of user. A function that two kinds of users need is in both parts. */
const PARTS = {
  intake,
  claims,
  repair,
  retries,
  reads,
  audit,
  errors,
  bulkRuns,
  bulkWork,
  sessions,
};

export type Ledger = {
  readonly [Part in keyof typeof PARTS]: Methods<LedgerContext, (typeof PARTS)[Part]>;
};

/** Makes a ledger over a pool, which the caller ends. An attempt holds a connection. */
export function createLedger(
  { pool }: { readonly pool: pg.Pool },
  options: LedgerOptions = {},
): Ledger {
  const context = createContext(pool, options);
  const parts = Object.entries(PARTS).map(([name, part]) => [name, bind(context, part)]);
  return Object.fromEntries(parts) as Ledger;
}
