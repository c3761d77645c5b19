import { graphile, millrace, millraceLedger, pgBoss, usualWithRows } from "../contenders.mjs";
import { numberOf } from "../event.mjs";
import { envOf, measurePipeline, postClosed, postOpen, startContender } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";
import { median, percentiles } from "../statistics.mjs";
import { checkWork, untilCount } from "../work.mjs";

const SHARE = 0.3;
const WARM_UP = 500;

export const latency = {
  help: "latencies at 30 % of the usual's saturation, and of the answer at all of it",
  contenders: [usualWithRows, millrace, millraceLedger, pgBoss, graphile],
  // When a row was committed is the time of its effect.
  settings: { track_commit_timestamp: "on" },
  run: async (servers, contenders, options) => {
    const { rounds, seconds, events = 10_000 } = options;
    const saturations = [];
    for (let round = 1; round <= rounds; round += 1) {
      process.stderr.write(`round ${round} of ${rounds}: saturation of the usual\n`);
      saturations.push(
        (await measurePipeline(servers, usualWithRows, { ...options, events })).rate,
      );
    }
    const saturation = median(saturations);
    const measured = await inTurn(contenders, rounds, async (contender) => ({
      figures: {
        ...(await measureLatency(servers, contender, { ...options, rate: saturation * SHARE })),
        ...(await measureSaturated(servers, contender, { ...options, rate: saturation })),
      },
    }));
    const rate = Math.round(saturation);
    return {
      latency: {
        title: `Latency in ms: ${Math.round(rate * SHARE)} and ${rate} events/s due in an open loop for ${seconds} s each`,
        contenders: measured,
        saturation: rate,
      },
    };
  },
};

async function measureLatency(servers, contender, options) {
  const { stores, load } = await offer(servers, contender, options);
  const rows = await stores.query(
    `SELECT event_id AS id, extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 AS at
     FROM effects`,
  );
  const completedMs = percentiles(
    rows.map(({ id, at }) => Number(at) - load.epochMs - numberOf(id) * load.intervalMs),
  );
  return {
    "ack p50": load.ackMs.p50,
    "ack p99": load.ackMs.p99,
    "completed p50": completedMs.p50,
    "completed p99": completedMs.p99,
  };
}

async function measureSaturated(servers, contender, options) {
  const { load } = await offer(servers, contender, options);
  return { "ack p99 at saturation": load.ackMs.p99 };
}

async function offer(servers, contender, { rate, seconds, ...options }) {
  const stores = await servers.fresh();
  const env = envOf(stores, contender, options);
  const running = await startContender(contender, env, options);
  const effects = () => stores.count("effects");
  await postClosed(env, running.url, { count: WARM_UP });
  await untilCount(effects, WARM_UP);
  await stores.query("TRUNCATE effects");
  const load = await postOpen(env, running.url, { rate, seconds });
  await untilCount(effects, load.accepted);
  await running.stop();
  if (load.refused > 0) throw new Error(`Cannot use this round: ${load.refused} were not accepted`);
  await checkWork(stores.query, load.accepted);
  return { stores, load };
}
