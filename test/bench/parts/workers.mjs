import {
  ceilingWorker,
  graphile,
  guideWorker,
  millrace,
  millraceGroupsOff,
  millraceLedger,
  millraceOnPostgres,
  millraceOnPostgresGroupsOff,
  pgBoss,
  usual,
  usualOnPostgres,
} from "../contenders.mjs";
import { LOADS } from "../loads.mjs";
import { envOf, measureDrain } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";
import { checkWork } from "../work.mjs";

const CONTENDED = ["contended", "failing", "slow"];

export const worker = {
  help: "events that a worker drains",
  contenders: [usual, millrace, guideWorker, pgBoss, graphile, ceilingWorker],
  run: async (servers, contenders, options) => {
    const { load, concurrency } = options;
    const name = [
      "worker",
      ...(load === "insert" ? [] : [load]),
      ...(concurrency === 20 ? [] : [`${concurrency} at once`]),
    ].join(", ");
    return { [name]: await drains(servers, contenders, options) };
  },
};

export const careful = {
  help: "the same for events that go alone, from the ledger, and with the queue on Postgres",
  contenders: [
    ...[usual, millraceGroupsOff, millraceLedger],
    ...[usualOnPostgres, millraceOnPostgres, millraceOnPostgresGroupsOff],
  ],
  run: async (servers, contenders, options) => ({
    careful: await drains(servers, contenders, { ...options, load: "insert" }),
  }),
};

export const contended = {
  help: "the same, with handlers that contend, fail, or take long",
  contenders: [usual, millrace, millraceGroupsOff],
  run: async (servers, contenders, options) => {
    const results = {};
    for (const load of CONTENDED) {
      results[load] = await drains(servers, contenders, { ...options, load });
    }
    return results;
  },
};

async function drains(servers, contenders, options) {
  const { rounds, load, concurrency, processes, events = 10_000 } = options;
  const workers = processes === 1 ? "one worker" : `${processes} workers`;
  return {
    title: `Worker: ${LOADS[load].title}; ${events} events, ${workers}, ${concurrency} at once`,
    contenders: await inTurn(contenders, rounds, async (contender) => {
      const stores = await servers.fresh();
      await contender.fill(envOf(stores, contender, options), events);
      const drained = await measureDrain(stores, contender, { ...options, events });
      if (contender.done === undefined) {
        await checkWork(stores.query, events, { contended: load === "contended" });
      }
      return drained;
    }),
  };
}
