import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { millrace } from "../contenders.mjs";
import { envOf, measureDrain } from "../measure.mjs";
import { run } from "../processes.mjs";
import { inTurn } from "../rounds.mjs";
import { checkWork } from "../work.mjs";

const CALL_MS = 200;
const LOOK_MS = 20;

const inside = { ...millrace, name: "in the transaction", shape: "call inside" };
const before = { ...millrace, name: "in `call`", shape: "call before" };
const insert = { ...millrace, name: "one INSERT", shape: "insert" };
const emit = { ...millrace, name: "one INSERT and one `emit`", shape: "emit" };

export const handlers = {
  help: `a call of ${CALL_MS} ms inside the transaction and in \`call\`; what \`emit\` costs`,
  contenders: [inside, before, insert, emit],
  run: async (servers, contenders, options) => {
    const chosen = (...ones) => ones.filter((one) => contenders.includes(one));
    const results = {};
    if (contenders.includes(before)) {
      results["handlers, call"] = await measureCalls(servers, chosen(inside, before), options);
    }
    if (contenders.includes(emit)) {
      results["handlers, emit"] = await measureEmits(servers, [insert, emit], options);
    }
    return results;
  },
};

async function measureCalls(servers, contenders, { events = 2_000, ...options }) {
  const server = await startSlowServer();
  const env = { BENCH_CALL_URL: server.url };
  try {
    return {
      title: `Handlers: a call that takes ${CALL_MS} ms; ${events} events, ${options.concurrency} transactions at once`,
      contenders: await inTurn(contenders, options.rounds, async (contender) => {
        const calling = { ...contender, env: { ...contender.env, ...env } };
        const drained = await drain(servers, calling, { ...options, events });
        const { figures } = drained;
        return { ...drained, figures: { ...figures, "calls at once": server.takeMost() } };
      }),
    };
  } finally {
    server.close();
  }
}

async function startSlowServer() {
  let now = 0;
  let most = 0;
  const server = createServer((_request, response) => {
    most = Math.max(most, (now += 1));
    response.on("close", () => (now -= 1));
    setTimeout(() => response.end(), CALL_MS);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    takeMost: () => {
      const taken = most;
      most = now;
      return taken;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function measureEmits(servers, contenders, { events = 10_000, ...options }) {
  return {
    title: `Handlers: one INSERT, and one \`emit\` besides; ${events} events, and none of those that were emitted`,
    contenders: await inTurn(contenders, options.rounds, (contender) =>
      drain(servers, contender, { ...options, events }),
    ),
  };
}

async function drain(servers, contender, options) {
  const { shape } = contender;
  const { events } = options;
  const stores = await servers.fresh();
  const env = envOf(stores, contender, { ...options, shape });
  if (shape === "emit") await run(["pause", "emitted"], env);
  await contender.fill(env, events);
  const idle = watchIdle(stores);
  const drained = await measureDrain(stores, contender, { ...options, shape });
  const idleMs = await idle.end();
  await checkWork(stores.query, events);
  if (shape === "emit") await checkEmitted(stores, events);
  return { ...drained, figures: { ...drained.figures, "ms idle in transaction": idleMs } };
}

function watchIdle({ query }) {
  let longestMs = 0;
  let ended = false;
  const look = async () => {
    while (!ended) {
      const [{ ms }] = await query(
        `SELECT coalesce(max(extract(epoch FROM clock_timestamp() - state_change)) * 1000, 0)::float8 AS ms
         FROM pg_stat_activity WHERE state = 'idle in transaction'`,
      );
      longestMs = Math.max(longestMs, ms);
      await sleep(LOOK_MS);
    }
  };
  const looking = look();
  return {
    end: async () => {
      ended = true;
      await looking;
      return longestMs;
    },
  };
}

async function checkEmitted({ count }, events) {
  const emitted = await count("millrace.events WHERE source = 'emitted' AND status = 'pending'");
  if (emitted === events) return;
  throw new Error(`Cannot use this round: ${events} events emitted ${emitted} that wait`);
}
