import { millrace, usualWithRows } from "../contenders.mjs";
import { growLedger, growUsual } from "../grow.mjs";
import { envOf, measureDrain, measureIngress } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";

const GROW = new Map([
  [usualWithRows.name, growUsual],
  [millrace.name, growLedger],
]);

export const growth = {
  help: "worker and ingress with many completed rows and waiting jobs, against empty stores",
  contenders: [usualWithRows, millrace],
  run: async (servers, contenders, options) => {
    const { rounds, rows, waiting, seconds, events = 10_000 } = options;
    const grown = await servers.fresh("grown");
    for (const contender of contenders) await grow(grown, contender, { rows, waiting });
    await grown.query("VACUUM ANALYZE");
    await grown.query("CHECKPOINT");
    const both = contenders.flatMap((contender) => [
      { ...contender, of: contender, isGrown: false, name: `${contender.name}, empty` },
      { ...contender, of: contender, isGrown: true, name: `${contender.name}, grown` },
    ]);
    const storesOf = async ({ isGrown }) => (isGrown ? grown : await servers.fresh());
    const bases = Object.fromEntries(both.map(({ name, of }) => [name, `${of.name}, empty`]));
    const size = `${rows} completed rows and ${waiting} waiting jobs`;
    return {
      "growth, worker": {
        title: `Worker: ${events} events with ${size}, against empty stores`,
        bases,
        contenders: await inTurn(both, rounds, async (contender) =>
          drainGrown(await storesOf(contender), contender, { ...options, events }),
        ),
      },
      "growth, ingress": {
        title: `Ingress: ${seconds} s with ${size}, against empty stores`,
        bases,
        contenders: await inTurn(both, rounds, async (contender) =>
          measureIngress(await storesOf(contender), withDeepQueue(contender), { seconds }),
        ),
      },
    };
  },
};

async function grow(stores, contender, { rows, waiting }) {
  await GROW.get(contender.name)(stores.query, rows, (done) =>
    process.stderr.write(`${contender.name}: ${done} of ${rows} rows\n`),
  );
  process.stderr.write(`${contender.name}: ${waiting} waiting jobs\n`);
  await contender.fill(envOf(stores, contender), waiting);
}

async function drainGrown(stores, contender, options) {
  const { events } = options;
  await stores.query("TRUNCATE effects");
  await contender.fill(envOf(stores, contender), events);
  const drained = await measureDrain(stores, withDeepQueue(contender), options);
  const [{ doubled }] = await stores.query(
    "SELECT count(*)::int - count(DISTINCT event_id)::int AS doubled FROM effects",
  );
  if (doubled > 0) throw new Error(`Cannot use this round: ${doubled} effects are doubled`);
  return drained;
}

function withDeepQueue(contender) {
  return { ...contender, env: { ...contender.env, BENCH_QUEUE_DEPTH_MAX: "100000000" } };
}
