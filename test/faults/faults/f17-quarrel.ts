import { setTimeout as sleep } from "node:timers/promises";
import { plainEvent } from "../load/plan.ts";
import type { Fault, Scene, Way } from "./fault.ts";
import { reached } from "./strike-role.ts";

/** F17: Postgres refuses a handler for reasons that pass: deadlocks, serialisation, lock waits, time. */
export const quarrel: Fault = {
  id: "F17",
  title:
    "deadlock, serialisation failure, lock timeout, statement cancelled, idle transaction ended",
  // Where Postgres is away, nobody can say whether a handler quarrelled.
  uses: ["postgres"],
  ways: {
    deadlock: async (scene) => {
      const { random, send, stage } = scene;
      const first = random.between(1, 10);
      const before = await countDeadlocks(scene);
      const run = random.between(0, 2 ** 31);
      for (let n = 0; n < 6; n += 1) {
        const locks = n % 2 === 0 ? [first, first + 10] : [first + 10, first];
        send(plainEvent(`msg_deadlock_${run}_${n}`, { plan: { locks } }));
      }
      // They wait behind others, and Postgres counts with a delay of its own.
      const deadline = performance.now() + 30_000;
      while (performance.now() < deadline) {
        if ((await countDeadlocks(scene)) > before) return stage.strike("F17", "deadlock");
        await sleep(200);
      }
    },
    serialisation: raise("40001"),
    cancelled: raise("57014"),
    "idle in transaction": async ({ stage, random, send }) => {
      send(plainEvent(`msg_idle_${random.between(0, 2 ** 31)}`, { plan: { hangs: 1 } }));
      if (await reached(() => endIdle(stage), 25_000)) {
        stage.strike("F17", "a handler's idle transaction ended by the server");
      }
    },
    "lock timeout": async ({ stage, random, send }) => {
      const row = random.between(1, 20);
      const holder = await stage.database.connect();
      try {
        await holder.query("begin");
        await holder.query("update proof.rivals set touched = 0 where id = $1", [row]);
        send(plainEvent(`msg_wait_${random.between(0, 2 ** 31)}`, { plan: { locks: [row] } }));
        await sleep(4_000);
        stage.strike("F17", "a row held for longer than lock_timeout");
        await holder.query("rollback");
      } finally {
        holder.release(true);
      }
    },
  },
};

/** Ends what waits for a handler, as idle_in_transaction_session_timeout does; false when nothing does. */
async function endIdle({ database }: Scene["stage"]): Promise<boolean> {
  const { rowCount } = await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'millrace-worker' and state = 'idle in transaction'
       and query ~ 'proof.effects' and state_change < clock_timestamp() - interval '300 ms'`,
  );
  return (rowCount ?? 0) > 0;
}

function raise(sqlState: string): Way {
  return async (scene) => {
    const id = `msg_raise_${scene.random.between(0, 2 ** 31)}`;
    scene.send(plainEvent(id, { plan: { raises: 2, sqlState }, copies: 2 }));
    if (await ranAgain(scene, id)) scene.stage.strike("F17", `SQLSTATE ${sqlState}`);
  };
}

async function ranAgain({ stage }: Scene, id: string): Promise<boolean> {
  let seen = false;
  const look = setInterval(() => {
    stage.database
      .query("select 1 from millrace.events where event_id = $1 and attempts > 1", [id])
      .then(({ rowCount }) => (seen ||= rowCount !== null && rowCount > 0))
      .catch(() => {});
  }, 200);
  try {
    return await reached(() => seen, 25_000);
  } finally {
    clearInterval(look);
  }
}

async function countDeadlocks({ stage }: Scene): Promise<number> {
  const { rows } = await stage.database.query(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  );
  return rows[0].deadlocks;
}
