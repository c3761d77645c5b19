import { createLedger, createPool, type Ledger } from "@millrace/ledger";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";
import { openTestLedger } from "../../support/ledger-fixture.ts";
import type { ModelRow, ModelRows } from "./event-model.ts";

/** Where a connection dies: with the COMMIT unsent, or with its answer on the way. */
export type Cut = "before_commit" | "after_commit";

/** The ledger on a real Postgres, over connections that can be cut. */
export interface RealLedger {
  readonly ledger: Ledger;
  /** Kills the backend of a transaction, as a restarting server does. */
  terminate(pid: number): Promise<void>;
  arm(cut: Cut): void;
  /** Ends the wait for a commit; tells whether one was cut. */
  disarm(): boolean;
  /** Waits until the server has done with the connections that were cut. */
  quiet(): Promise<unknown>;
  /** The rows of the events whose ids begin so, by their ids without that. */
  read(prefix: string): Promise<ModelRows>;
  close(): Promise<void>;
}

const NAME = "millrace-model";
const NEVER_SENT = "\u0000 no statement holds this";

export async function openRealLedger(): Promise<RealLedger> {
  const direct = await openTestLedger();
  await direct.ask("CREATE TABLE model_effects (event_id text, generation int)");
  const proxy = await startTcpProxy(direct.url);
  const pool = createPool({ url: proxy.url, max: 3, applicationName: NAME, onError: () => {} });
  let struckBefore = 0;
  const backends = async (): Promise<readonly number[]> => {
    const rows = await direct.ask<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
      [NAME],
    );
    return rows.map(({ pid }) => pid);
  };
  return {
    ledger: createLedger({ pool }),
    terminate: async (pid) => {
      await direct.ask("SELECT pg_terminate_backend($1)", [pid]);
      await until(async () => !(await backends()).includes(pid));
    },
    arm: (cut) => {
      struckBefore = proxy.struck;
      if (cut === "before_commit") proxy.cutBefore("COMMIT");
      else proxy.cutAfter("COMMIT");
    },
    disarm: () => {
      proxy.cutBefore(NEVER_SENT);
      return proxy.struck > struckBefore;
    },
    // A backend whose connection was cut goes on until it looks up.
    quiet: () => until(async () => (await backends()).length <= pool.totalCount),
    read: async (prefix) => {
      const rows = await direct.ask<ModelRow & { key: string }>(READ, [prefix]);
      return new Map(rows.map(({ key, ...row }) => [key, row]));
    },
    close: async () => {
      await pool.end();
      await proxy.close();
      await direct.close();
    },
  };
}

const READ = `
SELECT substr(e.event_id, length($1) + 1) || ' ' || e.generation AS key,
  e.status, e.attempts, e.attempts_at_retry AS "atRetry", e.failed_run AS "failedRun",
  e.enqueued_at IS NOT NULL AS enqueued, e.waits, e.next_attempt_at IS NOT NULL AS due,
  (SELECT count(*)::int FROM model_effects x
    WHERE (x.event_id, x.generation) = (e.event_id, e.generation)) AS effects,
  ARRAY(SELECT a.attempt FROM millrace.attempts a
    WHERE (a.source, a.event_id, a.generation) = (e.source, e.event_id, e.generation)
    ORDER BY a.attempt) AS logged
FROM millrace.events e WHERE starts_with(e.event_id, $1)`;
