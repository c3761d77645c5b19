import { millrace } from "../contenders.mjs";
import { cpuUsOf, envOf, postClosed, startContender } from "../measure.mjs";
import { spread } from "../statistics.mjs";
import { untilCount } from "../work.mjs";

const SWITCH = new URL("../switch-notes.mjs", import.meta.url).href;
/** Each event is delivered as often: half of the deliveries are duplicates. */
const TIMES = 2;

/**
 * What it costs an ingress to note which events were delivered again. One process does both in turn: two processes
 * of one build differ by more than that.
 */
export const duplicates = {
  help: "half of the deliveries are duplicates: what it costs the ingress to note them",
  contenders: [millrace],
  run: async (servers, [contender], { rounds, seconds }) => {
    const stores = await servers.fresh();
    // Nothing empties the queue, and it must not become full.
    const more = { NODE_OPTIONS: `--import ${SWITCH}`, BENCH_QUEUE_DEPTH_MAX: "100000000" };
    const env = { ...envOf(stores, contender), ...more };
    const running = await startContender({ ...contender, worker: undefined }, env);
    const counted = async () => {
      const text = "SELECT coalesce(sum(repeats), 0)::int AS n FROM millrace.deliveries";
      const [{ n }] = await stores.query(text);
      return n + (await unnoted(running.ingress.port));
    };
    let wanted = 0;

    async function measure(isNoted, load = { seconds }) {
      const before = running.cpuMs();
      const done = await postClosed(env, running.url, { ...load, times: TIMES });
      if (isNoted) wanted += done.accepted / TIMES;
      // The last ones are written a second later, and their CPU belongs to this round.
      await untilCount(counted, wanted, { withinMs: 10_000 });
      const cpuUs = cpuUsOf(before, running.cpuMs(), done.accepted);
      const now = await counted();
      if (now !== wanted) throw new Error(`Cannot use this round: ${now} are noted of ${wanted}`);
      return { rate: done.accepted / done.seconds, cpuUs };
    }

    const results = { "not noted": [], noted: [] };
    await measure(true, { seconds: 2 });
    let isNoted = true;
    for (let round = 0; round < rounds; round += 1) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`);
      // The order turns each time, so that a queue that grows makes neither dearer.
      for (const one of round % 2 === 0 ? [false, true] : [true, false]) {
        if (one !== isNoted) running.ingress.signal("SIGUSR2");
        isNoted = one;
        results[one ? "noted" : "not noted"].push(await measure(one));
      }
    }
    const lost = await unnoted(running.ingress.port);
    await running.stop();
    const shares = results.noted.map(({ cpuUs }, round) => {
      return (cpuUs.ingress / results["not noted"][round].cpuUs.ingress - 1) * 100;
    });
    const { middle, least, most } = spread(shares);
    return {
      duplicates: {
        title: `Half of the deliveries are duplicates: 64 connections for ${seconds} s, no worker`,
        note: `Noting them takes ${middle.toFixed(1)} % of the ingress' CPU (${least.toFixed(1)} to ${most.toFixed(1)}), pair by pair. ${lost} of ${wanted} were dropped, and counted.`,
        contenders: results,
      },
    };
  },
};

/** How many an ingress dropped, as it counts them. */
async function unnoted(port) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^millrace_deliveries_unnoted_total\{.*\} (\d+)$/m.exec(text)?.[1] ?? 0);
}
