import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../../support/until.ts";
import { countOthers, POISONED } from "../check/timing.ts";
import { ALWAYS, CALLED_TYPE, plainEvent, type Plan, type PlannedEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { countStrikes, reached } from "./strike-role.ts";

const FLOOD = 40;
const OTHERS = 30;
const HOLD_MAX_MS = 40_000;
const HUGE_BYTES = 900_000;

export const poison: Fault = {
  id: "F21",
  title: "poison: handlers that hang, kill their worker or always fail; huge events",
  uses: ["worker"],
  sparesOthers: true,
  ways: {
    hangs: poisonOf({ hangs: 1 }),
    "hangs in a call": poisonOf({ call: { steps: 2, hangs: 1 } }, { type: CALLED_TYPE }),
    fails: poisonOf({ fails: ALWAYS }),
    huge: poisonOf({}, { paddingBytes: HUGE_BYTES }),
    floods: flood,
    dies: async (context) => {
      const before = countStrikes(context, "handler.dies");
      const id = sendPoison(context, { dies: 1 });
      if (!(await reached(() => countStrikes(context, "handler.dies") > before, 25_000))) return;
      context.environment.strike("F21", `${id} killed its worker`);
      const dead = await until(() => context.environment.workers.find(({ up }) => !up));
      await dead.start();
    },
  },
};

function poisonOf(plan: Plan, over: Partial<PlannedEvent> = {}): Way {
  return async (context) => {
    const id = sendPoison(context, plan, over);
    context.environment.strike("F21", `${id} ${Object.keys({ ...plan, ...over }).join()}`);
    await Promise.resolve();
  };
}

async function flood(context: FaultContext): Promise<void> {
  const { environment, random } = context;
  const heldBy = `let-go-${random.between(0, 2 ** 31)}`;
  const before = countStrikes(context, "handler.held");
  const fromMs = Date.now();
  for (let sent = 0; sent < FLOOD; sent += 1) sendPoison(context, { heldBy }, { copies: 1 });
  try {
    if (!(await reached(() => countStrikes(context, "handler.held") > before, 25_000))) return;
    environment.strike("F21", `${FLOOD} events hang`);
    await reached(async () => (await countOthers(context, fromMs)) >= OTHERS, HOLD_MAX_MS);
  } finally {
    await writeFile(join(environment.folder, heldBy), "");
  }
}

function sendPoison(
  { random, send }: FaultContext,
  plan: Plan,
  over: Partial<PlannedEvent> = {},
): string {
  const id = `msg_poison_${random.between(0, 2 ** 31)}`;
  send(plainEvent(id, { source: POISONED, plan, copies: random.between(1, 5), ...over }));
  return id;
}

const MANY_EVENTS = 10_000;
const MANY_COPIES = 20;
const SETTLED_MS = 1_200_000;

export const storm: Fault = {
  id: "F20",
  title: "a storm of duplicates, of one event or of many",
  uses: ["senders"],
  sparesOthers: true,
  ways: { "500": stormOf(500), "2000": stormOf(2_000) },
  longWays: { "5000": stormOf(5_000), "10000x20": stormOfMany },
};

function stormOf(copies: number): Way {
  return async (context) => {
    const id = `msg_storm_${context.random.between(0, 2 ** 31)}`;
    await blow(context, [plainEvent(id, { plan: { sleepMs: 200 }, copies })]);
  };
}

async function stormOfMany(context: FaultContext): Promise<void> {
  const run = context.random.between(0, 2 ** 31);
  const events = Array.from({ length: MANY_EVENTS }, (_, n) =>
    plainEvent(`msg_storm_${run}_${n}`, { source: POISONED, copies: MANY_COPIES }),
  );
  await blow(context, events);
  const completed = "millrace.events where status = 'completed' and event_id like $1";
  await until(
    async () =>
      (await context.environment.count(completed, [`msg_storm_${run}_%`])) === MANY_EVENTS,
    { withinMs: SETTLED_MS, what: `${MANY_EVENTS} events of the storm completed` },
  );
}

async function blow(
  { environment, burst, log }: FaultContext,
  events: readonly PlannedEvent[],
): Promise<void> {
  const fromMs = performance.now();
  const answered = await burst(...events);
  const copies = events.reduce((sum, event) => sum + event.copies, 0);
  const own = new Set(events);
  const others = log.times.filter(({ event }) => !own.has(event));
  const before = others.filter(({ startedMs }) => startedMs < fromMs);
  const during = others.filter(({ startedMs }) => startedMs >= fromMs);
  if (answered === 0) return;
  const seconds = Math.round((performance.now() - fromMs) / 1_000);
  environment.strike(
    "F20",
    `${copies} deliveries of ${events.length} events in ${seconds} s, ${answered} taken; ` +
      `others were answered with p99 ${p99(during)} (${during.length}), before it ${p99(before)}`,
  );
}

function p99(times: readonly { readonly tookMs: number }[]): string {
  const sorted = times.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return `${Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0)} ms`;
}

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
      // None of the deadlocks' rows: their handlers may still be trying, and could end this one.
      const row = random.between(21, 30);
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
