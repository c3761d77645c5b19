import {
  graphile,
  millrace,
  millraceAlone,
  millraceGroupsOff,
  millraceLedger,
  millraceOnPostgres,
  millraceOnPostgresGroupsOff,
  pgBoss,
  usual,
  usualOnPostgres,
  usualPrepared,
  usualWithRows,
} from "../contenders.mjs";
import { SHAPES } from "../shapes.mjs";
import { envOf, measureDrain } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";
import { checkWork } from "../work.mjs";

/** Not those whose ids or handlers are of another kind. */
const EVERY_SHAPE = Object.keys(SHAPES).filter((shape) => !["set", "unsigned"].includes(shape));

export const worker = {
  help: "events that a worker drains",
  contenders: [usual, usualPrepared, usualWithRows, millrace, millraceAlone, pgBoss, graphile],
  run: async (servers, contenders, options) => {
    const { concurrency, shape: chosen } = options;
    const results = {};
    for (const shape of chosen === "all" ? EVERY_SHAPE : [chosen]) {
      const name = [
        "worker",
        ...(shape === "insert" ? [] : [shape]),
        ...(concurrency === 20 ? [] : [`${concurrency} at once`]),
      ].join(", ");
      results[name] = await drains(servers, contenders, { ...options, shape });
    }
    return results;
  },
};

export const careful = {
  help: "the same for events that go alone, from the ledger, and with the queue on Postgres",
  contenders: [
    ...[usual, usualWithRows, millraceAlone, millraceGroupsOff, millraceLedger],
    ...[usualOnPostgres, millraceOnPostgres, millraceOnPostgresGroupsOff],
  ],
  run: async (servers, contenders, options) => ({
    careful: await drains(servers, contenders, { ...options, shape: "insert" }),
  }),
};

async function drains(servers, contenders, options) {
  const { rounds, shape, concurrency, processes, events = 10_000 } = options;
  const workers = processes === 1 ? "one worker" : `${processes} workers`;
  return {
    title: `Worker: ${SHAPES[shape].title}; ${events} events, ${workers}, ${concurrency} at once`,
    contenders: await inTurn(contenders, rounds, async (contender) => {
      const stores = await servers.fresh();
      await contender.fill(envOf(stores, contender, options), events);
      const drained = await measureDrain(stores, contender, { ...options, events });
      if (contender.done === undefined) {
        await checkWork(stores.query, events, { counts: SHAPES[shape].counts === true });
      }
      return drained;
    }),
  };
}
