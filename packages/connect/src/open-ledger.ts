import { MillraceError, poolName, settlesWithin, type DatabaseVariable } from "@millrace/core";
import {
  checkSchema,
  createLedger,
  createPool,
  findPooler,
  type Ledger,
  type LedgerOptions,
  type Pooler,
} from "@millrace/ledger";
import type { Finding } from "./check-database.ts";
import { cliConnections } from "./connection-budget.ts";

export interface ConnectedLedger {
  readonly pool: ReturnType<typeof createPool>;
  readonly ledger: Ledger;
  close(): Promise<void>;
}

// A pool waits for the connections that it has lent, and one of them may have lost its server.
const POOL_END_MS = 3_000;

export function connectLedger(
  poolOptions: Omit<Parameters<typeof createPool>[0], "onError">,
  watch: { readonly onError?: (cause: string, error: unknown) => void } = {},
  options: LedgerOptions = {},
): ConnectedLedger {
  const applicationName = poolName(poolOptions.applicationName, poolOptions.max);
  const onError = (error: unknown) => watch.onError?.("postgres", error);
  const pool = createPool({ ...poolOptions, applicationName, onError });
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

/** @throws `database_unavailable`, `migration_needed`, `migration_changed`, `migration_unknown` */
export async function checkLedger({ pool }: Pick<ConnectedLedger, "pool">): Promise<Pooler> {
  await checkSchema(pool);
  return await findPooler(pool);
}

/** The error for work that needs a session. `variable` names the URL at which a pooler answers. */
export function sessionNeeded(who: string, variable: DatabaseVariable): MillraceError {
  const { detail, fix } = sessionFinding(who, variable);
  return new MillraceError("session_needed", `Cannot start: ${detail}. ${fix}`);
}

export function sessionFinding(who: string, variable: DatabaseVariable): Finding {
  const toSet = variable === "DATABASE_URL" ? "DATABASE_SESSION_URL" : variable;
  return {
    detail: `${who} needs connections to Postgres that no pooler shares, and a pooler answers at ${variable}`,
    fix: `Set ${toSet} to the URL of Postgres itself`,
  };
}

/** @throws as `checkLedger` */
export async function openLedger(url: string): Promise<ConnectedLedger & { pooler: Pooler }> {
  const store = connectLedger({ url, max: cliConnections, applicationName: "millrace-cli" });
  try {
    return { ...store, pooler: await checkLedger(store) };
  } catch (error) {
    await store.close();
    throw error;
  }
}
