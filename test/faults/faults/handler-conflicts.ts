import { setTimeout as sleep } from "node:timers/promises";
import { plainEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** F17: Postgres refuses a handler for reasons that pass: deadlocks, serialisation, lock waits, time. */
export const handlerConflicts: Fault = {
  id: "F17",
  title:
    "deadlock, serialisation failure, lock timeout, statement cancelled, idle transaction ended",
  // Where Postgres is away, nobody can say why a handler was refused.
  uses: ["postgres"],
  ways: {
    deadlock: async (context) => {
      const { random, send, environment } = context;
      const first = random.between(1, 10);
      const before = await countDeadlocks(context);
      const run = random.between(0, 2 ** 31);
      for (let n = 0; n < 6; n += 1) {
        const locks = n % 2 === 0 ? [first, first + 10] : [first + 10, first];
        send(plainEvent(`msg_deadlock_${run}_${n}`, { plan: { locks } }));
      }
      // They wait behind others, and Postgres counts with a delay of its own.
      if (await reached(async () => (await countDeadlocks(context)) > before)) {
        environment.strike("F17", "deadlock");
      }
    },
    serialisation: raise("40001"),
    cancelled: raise("57014"),
    "idle in transaction": async ({ environment, random, send }) => {
      send(plainEvent(`msg_idle_${random.between(0, 2 ** 31)}`, { plan: { hangs: 1 } }));
      if (await reached(() => endIdle(environment), 25_000)) {
        environment.strike("F17", "a handler's idle transaction ended by the server");
      }
    },
    "lock timeout": async ({ environment, random, send }) => {
      const row = random.between(1, 20);
      const holder = await environment.database.connect();
      try {
        await holder.query("begin");
        await holder.query("update proof.rivals set touched = 0 where id = $1", [row]);
        send(plainEvent(`msg_wait_${random.between(0, 2 ** 31)}`, { plan: { locks: [row] } }));
        await sleep(4_000);
        environment.strike("F17", "a row held for longer than lock_timeout");
        await holder.query("rollback");
      } finally {
        holder.release(true);
      }
    },
  },
};

/** Ends what waits for a handler, as idle_in_transaction_session_timeout does; false when nothing does. */
async function endIdle({ database }: FaultContext["environment"]): Promise<boolean> {
  const { rowCount } = await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name like 'millrace-worker/%' and state = 'idle in transaction'
       and query ~ 'proof.effects' and state_change < clock_timestamp() - interval '300 ms'`,
  );
  return (rowCount ?? 0) > 0;
}

function raise(sqlState: string): Way {
  return async (context) => {
    const id = `msg_raise_${context.random.between(0, 2 ** 31)}`;
    context.send(plainEvent(id, { plan: { raises: 2, sqlState }, copies: 2 }));
    if (await ranAgain(context, id)) context.environment.strike("F17", `SQLSTATE ${sqlState}`);
  };
}

function ranAgain({ environment }: FaultContext, id: string): Promise<boolean> {
  return reached(async () => {
    const { rowCount } = await environment.database.query(
      "select 1 from millrace.events where event_id = $1 and attempts > 1",
      [id],
    );
    return (rowCount ?? 0) > 0;
  }, 25_000);
}

async function countDeadlocks({ environment }: FaultContext): Promise<number> {
  const { rows } = await environment.database.query(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  );
  return rows[0].deadlocks;
}
