import { settlesWithin } from "@millrace/core";
import {
  checkSchema,
  createLedger,
  createPool,
  type Ledger,
  type LedgerOptions,
} from "@millrace/ledger";
import { cliConnections } from "./connection-budget.ts";

/** A ledger and its pool, which connects when it is used. */
export interface ConnectedLedger {
  readonly pool: ReturnType<typeof createPool>;
  readonly ledger: Ledger;
  /** Ends the pool. Bounded. */
  close(): Promise<void>;
}

// A pool waits for the connections that it has lent, and one of them may have lost its server.
const POOL_END_MS = 3_000;

/** Makes a ledger and its pool. Nothing is connected yet. */
export function connectLedger(
  poolOptions: Parameters<typeof createPool>[0],
  options: LedgerOptions = {},
): ConnectedLedger {
  const pool = createPool(poolOptions);
  let ending: Promise<unknown> | undefined;
  return {
    pool,
    ledger: createLedger({ pool }, options),
    close: async () => {
      ending ??= settlesWithin(pool.end(), POOL_END_MS);
      await ending;
    },
  };
}

/**
 * Opens the ledger alone, for a command that needs no queue.
 *
 * @throws `database_unavailable`, `migration_needed`, `migration_changed`, `migration_unknown`.
 */
export async function openLedger(url: string): Promise<ConnectedLedger> {
  const store = connectLedger({ url, max: cliConnections, applicationName: "millrace-cli" });
  try {
    await checkSchema(store.pool);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}
