import { millrace, millraceLedger, usualWithRows } from "../contenders.mjs";
import { envOf, postClosed, startContender } from "../measure.mjs";
import { inTurn } from "../rounds.mjs";
import { slope } from "../statistics.mjs";
import { checkWork, untilCount } from "../work.mjs";

const SAMPLES = 100;
const SLICE_MIN = 100;
const FLAT_BYTES = 32;
const EVENTS_TO_JUDGE = 200_000;

export const memory = {
  help: "resident memory of ingress and worker over many events",
  contenders: [usualWithRows, millrace, millraceLedger],
  run: async (servers, contenders, options) => {
    const { events = 1_000_000 } = options;
    const results = await inTurn(contenders, 1, (contender) =>
      measureMemory(servers, contender, { ...options, events }),
    );
    return {
      memory: {
        title: `Resident memory over ${events} events, from delivery to effect`,
        contenders: results,
        note:
          events < EVENTS_TO_JUDGE ? `${events} events are too few to judge by.` : verdict(results),
      },
    };
  },
};

function verdict(results) {
  const judged = Object.entries(results).flatMap(([name, [{ figures }]]) =>
    ["ingress", "worker"].map((process) => ({
      text: `${name} (${process})`,
      isFlat: figures[`${process} bytes an event`] < FLAT_BYTES,
    })),
  );
  const list = (isFlat) => judged.filter((one) => one.isFlat === isFlat).map(({ text }) => text);
  const [flat, rising] = [list(true), list(false)];
  return [
    `Flat means that the line through the second half of ${SAMPLES} samples rises by less than ${FLAT_BYTES} bytes an event.`,
    ...(flat.length > 0 ? [`Flat: ${flat.join(", ")}.`] : []),
    ...(rising.length > 0 ? [`Not flat: ${rising.join(", ")}.`] : []),
  ].join(" ");
}

async function measureMemory(servers, contender, options) {
  const slice = Math.max(SLICE_MIN, Math.ceil(options.events / SAMPLES));
  const stores = await servers.fresh();
  const env = envOf(stores, contender, options);
  const running = await startContender(contender, env, options);
  const [worker] = running.workers;
  const samples = { ingress: [], worker: [] };
  let done = 0;
  while (done < options.events) {
    // A slice at a time, so that no backlog grows and each event is checked.
    await postClosed(env, running.url, { count: slice });
    await untilCount(() => stores.count("effects"), slice);
    await checkWork(stores.query, slice);
    await stores.query("TRUNCATE effects");
    done += slice;
    samples.ingress.push([done, running.ingress.rssBytes()]);
    samples.worker.push([done, worker.rssBytes()]);
    if (done % (slice * 10) === 0) process.stderr.write(`${done} of ${options.events} events\n`);
  }
  await running.stop();
  return {
    figures: { ...figuresOf("ingress", samples), ...figuresOf("worker", samples) },
    samples,
  };
}

function figuresOf(name, samples) {
  const points = samples[name];
  const megabytes = points.map(([, bytes]) => bytes / 1_048_576);
  return {
    [`${name} MiB at the end`]: megabytes.at(-1),
    [`${name} MiB at most`]: Math.max(...megabytes),
    [`${name} bytes an event`]: slope(points.slice(Math.floor(points.length / 2))),
  };
}
